#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dragoman/tensor/context.h>

namespace dragoman::nn {

/// Pools of rows that outlive a step: several tensors [capacity, width] on one device, allocated in pages. A page is
/// the same range of rows in all tensors. When no page is free the tensors grow and move, so views of them are valid
/// until the next take_page(). Belongs to one thread.
class RowPool {
 public:
  /// The rows of a page. Each owner of pages wastes at most 15 rows; 16 rows of a 512-wide layer are 32 KiB.
  static constexpr std::int32_t kPageRows = 16;

  RowPool() = default;
  /// Allocates in the memory of the context's device.
  RowPool(const tensor::Context& context, const std::vector<std::int64_t>& widths, tensor::DType dtype);

  /// Returns the first row of a free page, which then belongs to the caller.
  std::int32_t take_page();
  /// Releases pages, given by the rows that take_page() returned.
  void give_back(std::span<const std::int32_t> pages) noexcept;

  /// All rows of tensor `index`, in the order of the widths.
  const tensor::Tensor& rows(int index) const { return tensors_[static_cast<std::size_t>(index)]; }
  /// The size in bytes of all pages in use.
  std::size_t bytes_in_use() const noexcept { return pages_in_use_ * page_bytes_; }
  /// A number that changes whenever the tensors move. Different pools never have the same number.
  std::int64_t generation() const noexcept { return generation_; }

 private:
  void grow();

  tensor::DeviceMemory* memory_ = nullptr;
  std::vector<tensor::Buffer> buffers_;
  std::vector<tensor::Tensor> tensors_;
  std::vector<std::int32_t> free_pages_;
  std::size_t page_bytes_ = 0;
  std::size_t pages_in_use_ = 0;
  std::int64_t generation_ = 0;
};

}  // namespace dragoman::nn

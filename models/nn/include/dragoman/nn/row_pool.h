#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dragoman/tensor/context.h>

namespace dragoman::nn {

/// Rows that live longer than a step: several tensors [capacity, width] of one device, whose rows are handed out in
/// pages. A page is the same rows of all tensors. When there is no page left the tensors grow and move, so views of
/// them hold until the next take_page(). Belongs to one thread.
class RowPool {
 public:
  /// Rows of a page: at most 15 are wasted per owner of pages, and 16 rows of a 512-wide layer are 32 KiB.
  static constexpr std::int32_t kPageRows = 16;

  RowPool() = default;
  /// In the memory of the context's device.
  RowPool(const tensor::Context& context, const std::vector<std::int64_t>& widths, tensor::DType dtype);

  /// The first row of a page that is now the caller's.
  std::int32_t take_page();
  void give_back(std::span<const std::int32_t> pages) noexcept;

  /// All rows of tensor `index`, in the order of the widths.
  const tensor::Tensor& rows(int index) const { return tensors_[static_cast<std::size_t>(index)]; }
  /// Bytes of all pages that somebody has.
  std::size_t bytes_in_use() const noexcept { return pages_in_use_ * page_bytes_; }
  /// Another one whenever the tensors have moved; never that of another pool.
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

#include "dragoman/nn/row_pool.h"

#include <algorithm>

namespace dragoman::nn {
namespace {

constexpr std::int64_t kFirstPages = 16;

}  // namespace

RowPool::RowPool(const tensor::Context& context, const std::vector<std::int64_t>& widths, tensor::DType dtype)
    : memory_(&context.memory()), buffers_(widths.size()) {
  for (const std::int64_t width : widths) {
    tensors_.push_back({nullptr, 0, width, width, dtype, context.device()});
    page_bytes_ += static_cast<std::size_t>(width * kPageRows) * tensor::size_of(dtype);
  }
}

std::int32_t RowPool::take_page() {
  if (free_pages_.empty()) grow();
  const std::int32_t page = free_pages_.back();
  free_pages_.pop_back();
  ++pages_in_use_;
  return page;
}

void RowPool::give_back(std::span<const std::int32_t> pages) noexcept {
  // Cannot allocate: grow() has reserved room for every page.
  free_pages_.insert(free_pages_.end(), pages.begin(), pages.end());
  pages_in_use_ -= pages.size();
}

void RowPool::grow() {
  const std::int64_t pages = static_cast<std::int64_t>(pages_in_use_ + free_pages_.size());
  const std::int64_t more = std::max(kFirstPages, pages / 2);
  free_pages_.reserve(static_cast<std::size_t>(pages + more));
  generation_ = tensor::next_generation();
  // If a later tensor cannot be allocated, earlier tensors stay larger than necessary.
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    tensor::Tensor& rows = tensors_[i];
    if (rows.rows >= (pages + more) * kPageRows) continue;
    const std::size_t row_bytes = static_cast<std::size_t>(rows.cols) * tensor::size_of(rows.dtype);
    const std::size_t bytes = static_cast<std::size_t>((pages + more) * kPageRows) * row_bytes;
    if (rows.rows > 0)
      buffers_[i].enlarge(bytes);
    else
      buffers_[i] = tensor::Buffer(*memory_, bytes);
    rows.data = buffers_[i].data();
    rows.rows = (pages + more) * kPageRows;
  }
  // The lowest rows are used first.
  for (std::int64_t page = pages + more; page-- > pages;)
    free_pages_.push_back(static_cast<std::int32_t>(page * kPageRows));
}

}  // namespace dragoman::nn

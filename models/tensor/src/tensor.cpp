#include "dragoman/tensor/tensor.h"

#include <dragoman/core/error.h>

namespace dragoman::tensor {

Tensor Tensor::row_range(std::int64_t begin, std::int64_t end) const {
  if (begin < 0 || begin > end || end > rows)  // not require(): building the description would allocate in hot loops
    core::fail(core::ErrorCode::kInvalidArgument, "rows [{}, {}) are not in {}", begin, end, describe(*this));
  Tensor part = *this;
  part.data = static_cast<char*>(data) + static_cast<std::size_t>(begin * stride) * size_of(dtype);
  part.rows = end - begin;
  return part;
}

Tensor Tensor::col_range(std::int64_t begin, std::int64_t end) const {
  if (begin < 0 || begin > end || end > cols)
    core::fail(core::ErrorCode::kInvalidArgument, "columns [{}, {}) are not in {}", begin, end, describe(*this));
  Tensor part = *this;
  part.data = static_cast<char*>(data) + static_cast<std::size_t>(begin) * size_of(dtype);
  part.cols = end - begin;
  return part;
}

std::string describe(const Tensor& tensor) {
  return fmt::format("[{}, {}] {} on {}", tensor.rows, tensor.cols, name_of(tensor.dtype), name_of(tensor.device));
}

void require_shape(const Tensor& tensor, std::int64_t rows, std::int64_t cols, std::string_view what) {
  if (tensor.rows != rows || tensor.cols != cols)
    core::fail(core::ErrorCode::kInvalidArgument, "{} must be [{}, {}] but is {}", what, rows, cols, describe(tensor));
}

}  // namespace dragoman::tensor

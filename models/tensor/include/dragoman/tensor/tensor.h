#pragma once

#include <cstdint>
#include <string>

#include <dragoman/core/error.h>
#include <dragoman/tensor/device.h>
#include <dragoman/tensor/dtype.h>

namespace dragoman::tensor {

/// A non-owning view of a row-major matrix `[rows, cols]` of one dtype on one device. Consecutive rows are `stride`
/// elements apart. A vector is one row. Trivially copyable: pass it by value. The memory belongs to a model (weights),
/// a sentence (K/V pages) or a step (arena); the function that returns a view documents the owner. Tensors are never
/// converted or moved implicitly.
///
///     std::array<float, 6> values{1, 2, 3, 4, 5, 6};
///     const Tensor x{.data = values.data(), .rows = 2, .cols = 3, .stride = 3};
///     const Tensor second_row = x.row_range(1, 2);
///     std::cout << describe(x) << ' ' << second_row.as<float>()[0];     // [2, 3] F32 on cpu 4
struct Tensor {
  void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t stride = 0;
  DType dtype = DType::kF32;
  Device device = Device::kCpu;

  bool empty() const noexcept { return data == nullptr; }
  std::int64_t size() const noexcept { return rows * cols; }
  bool contiguous() const noexcept { return stride == cols || rows <= 1; }

  /// Returns a typed pointer to row i, or to the first element. T must match the dtype. This is not checked, because
  /// kernels call it in inner loops.
  template <class T>
  T* row(std::int64_t i) const noexcept {
    return static_cast<T*>(data) + i * stride;
  }
  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data);
  }

  /// Views of rows [begin, end) or columns [begin, end) of the same memory.
  Tensor row_range(std::int64_t begin, std::int64_t end) const;
  Tensor col_range(std::int64_t begin, std::int64_t end) const;
};

/// Returns "[rows, cols] F32 on cpu", for messages.
std::string describe(const Tensor& tensor);

/// Throws Error{kInvalidArgument} unless the tensor has this shape. `what` names the tensor in the message.
void require_shape(const Tensor& tensor, std::int64_t rows, std::int64_t cols, std::string_view what);

/// Calls visitor(T{}) with T float or double, according to `dtype`. Error{kUnsupported} for other dtypes.
template <class Visitor>
decltype(auto) visit_float(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::kF32:
      return visitor(float{});
    case DType::kF64:
      return visitor(double{});
    default:
      core::fail(core::ErrorCode::kUnsupported, "cannot compute with elements of type {}", name_of(dtype));
  }
}

}  // namespace dragoman::tensor

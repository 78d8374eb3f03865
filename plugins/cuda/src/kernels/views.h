#pragma once

#include "launches.h"

#include <string_view>

#include <dragoman/core/error.h>
#include <dragoman/ops/dropout.h>
#include <dragoman/tensor/context.h>

// What kernels are called with, as they are launched.
namespace dragoman::backend::cuda {

/// Error{kUnsupported} naming `op` unless the tensor has elements of T; an empty one has no data.
template <class T>
device::View<T> view_of(const tensor::Tensor& tensor, tensor::DType dtype, std::string_view op) {
  core::require(tensor.empty() || tensor.dtype == dtype, core::ErrorCode::kUnsupported,
                "{}: this device computes with {} here, not with {}", op, tensor::name_of(dtype),
                tensor::describe(tensor));
  return {tensor.as<T>(), tensor.rows, tensor.cols, tensor.stride};
}
inline bool is_half(tensor::DType dtype) {
  return dtype == tensor::DType::kBF16 || dtype == tensor::DType::kF16;
}
inline device::Half half_of(tensor::DType dtype) {
  return dtype == tensor::DType::kF16 ? device::Half::kF16 : device::Half::kBf16;
}
inline device::Half half_of(tensor::ComputeType type) {
  return type == tensor::ComputeType::kF16 ? device::Half::kF16 : device::Half::kBf16;
}
inline device::Matrix matrix(const tensor::Tensor& tensor, std::string_view op) {
  return view_of<float>(tensor, tensor::DType::kF32, op);
}
inline device::Target target(const ops::GradientTarget& gradient, std::string_view op) {
  return {matrix(gradient.value, op), gradient.accumulate};
}
inline device::Ids ids(const ops::DeviceIndices& indices) {
  return {indices.data, indices.count};
}
/// Uninitialised, until the scope of the kernel ends.
template <class T>
T* scratch(tensor::Context& context, std::int64_t count) {
  return static_cast<T*>(context.arena().allocate(static_cast<std::size_t>(count) * sizeof(T)));
}
inline device::Dropout dropout(double rate, const tensor::RandomState& random) {
  if (rate == 0) return {};
  return {random.key, random.stream, ops::dropout_threshold(rate), static_cast<float>(ops::dropout_scale(rate))};
}

}  // namespace dragoman::backend::cuda

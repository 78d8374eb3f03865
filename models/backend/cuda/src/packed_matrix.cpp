#include "packed_matrix.h"

#include "kernels.h"
#include "views.h"

#include <dragoman/tensor/int8.h>

namespace dragoman::backend::cuda {
namespace {

std::size_t bytes_of_element(ComputeType type) {
  switch (type) {
    case ComputeType::kF32:
      return sizeof(float);
    case ComputeType::kBF16:
      return sizeof(std::uint16_t);
    default:
      return sizeof(std::int8_t);
  }
}

template <class T>
device::View<T> contiguous(void* data, std::int64_t rows, std::int64_t cols) {
  return {static_cast<T*>(data), rows, cols, cols};
}

}  // namespace

PackedMatrix::PackedMatrix(tensor::DeviceMemory& memory, const device::Matrix& weight, ComputeType type)
    : rows_(weight.rows),
      cols_(weight.cols),
      type_(type),
      values_(memory, static_cast<std::size_t>(weight.rows * weight.cols) * bytes_of_element(type)) {
  if (type == ComputeType::kF32)
    device::scale(weight, 1, contiguous<float>(values_.data(), rows_, cols_), false);
  else if (type == ComputeType::kBF16)
    device::narrow_to_bf16(weight, contiguous<std::uint16_t>(values_.data(), rows_, cols_));
  else
    quantize(memory, weight);
}

void PackedMatrix::quantize(tensor::DeviceMemory& memory, const device::Matrix& weight) {
  core::require(cols_ <= tensor::kMostInt8Inputs, core::ErrorCode::kUnsupported,
                "a product of {} inputs does not fit into int8's sums, which have {}", cols_, tensor::kMostInt8Inputs);
  scales_ = tensor::Buffer(memory, static_cast<std::size_t>(rows_) * sizeof(float));
  device::quantize_rows(weight, tensor::kWeightRange, contiguous<std::int8_t>(values_.data(), rows_, cols_),
                        static_cast<float*>(scales_.data()));
}

void PackedMatrix::multiply(Context& context, const device::Matrix& x, const device::Matrix& c,
                            const device::Epilogue& epilogue) const {
  switch (type_) {
    case ComputeType::kF32:
      return device::product({.a = x,
                              .b = contiguous<float>(values_.data(), rows_, cols_),
                              .transpose_b = true,
                              .c = c,
                              .epilogue = epilogue});
    case ComputeType::kBF16:
      return device::product_bf16(x, contiguous<std::uint16_t>(values_.data(), rows_, cols_), c, epilogue);
    case ComputeType::kI8:
    case ComputeType::kI8Narrow: {
      const tensor::ScratchScope scope(context.arena());
      const auto numbers =
          contiguous<std::int8_t>(context.arena().allocate(static_cast<std::size_t>(x.rows * cols_)), x.rows, cols_);
      auto* const scales =
          static_cast<float*>(context.arena().allocate(static_cast<std::size_t>(x.rows) * sizeof(float)));
      device::quantize_rows(x, tensor::activation_range(type_), numbers, scales);
      return device::product_int8({.a = numbers,
                                   .a_scales = scales,
                                   .weight = contiguous<std::int8_t>(values_.data(), rows_, cols_),
                                   .weight_scales = static_cast<const float*>(scales_.data()),
                                   .c = c,
                                   .epilogue = epilogue});
    }
  }
}

void multiply(Context& context, const device::Matrix& x, const Tensor& plain, ComputeType type,
              const PackedWeight* packed, const device::Matrix& c, const device::Epilogue& epilogue,
              std::string_view op) {
  if (packed != nullptr) {
    const auto* weight = dynamic_cast<const PackedMatrix*>(packed);
    core::require(weight != nullptr, core::ErrorCode::kInvalidArgument,
                  "{}: the weight was packed by another backend than this", op);
    return weight->multiply(context, x, c, epilogue);
  }
  core::require(type == ComputeType::kF32 || type == ComputeType::kBF16, core::ErrorCode::kUnsupported,
                "{}: a plain weight is not multiplied in {}", op, tensor::name_of(type));
  device::product({.a = x,
                   .b = matrix(plain, op),
                   .transpose_b = true,
                   .round_to_bf16 = type == ComputeType::kBF16,
                   .c = c,
                   .epilogue = epilogue});
}

std::unique_ptr<PackedWeight> kernel(Context& context, const tensor::StoredMatrix& weight, ComputeType type) {
  return std::make_unique<PackedMatrix>(context.memory(), matrix(weight.values, "pack_weight"), type);
}

}  // namespace dragoman::backend::cuda

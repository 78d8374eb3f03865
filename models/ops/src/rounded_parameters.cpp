#include "dragoman/ops/rounded_parameters.h"

#include <memory>

#include <dragoman/core/error.h>

namespace dragoman::ops {
namespace {

/// Elements that rows of rounded values are padded to.
constexpr std::int64_t kRowUnit = 32;

bool rounds(const Context& context, const Tensor& values) {
  return !values.empty() && values.dtype == tensor::DType::kF32 && rounds_operands(context);
}
tensor::DType rounded_type(const Context& context) {
  return autograd::training_compute_type(context) == ComputeType::kF16 ? tensor::DType::kF16 : tensor::DType::kBF16;
}

}  // namespace

void RoundedParameters::reserve(tensor::DeviceMemory& memory, const Tensor& values) {
  const auto bytes = static_cast<std::size_t>(values.size()) * sizeof(std::uint16_t);
  if (room_.size() >= bytes) return;
  room_ = {};  // first, so that both never exist at the same time
  room_ = tensor::Buffer(memory, bytes);
}

void RoundedParameters::round(Context& context, const Tensor& values, tensor::DType type) {
  core::require(static_cast<std::size_t>(values.size()) * sizeof(std::uint16_t) <= room_.size(),
                core::ErrorCode::kInternal, "there is no room for {} rounded parameters", values.size());
  rounded_ = {room_.data(), values.rows, values.cols, values.cols, type, values.device};
  context.kernels().get(kRoundParameters)(context, {values, rounded_});
  values_ = values;
}

/// The room may move. The other results of find() follow from the parameters, and the key of the step has their
/// generation.
tensor::ExtensionState RoundedParameters::state() const {
  return {reinterpret_cast<std::uint64_t>(room_.data())};
}

bool rounds_operands(const Context& context) {
  const ComputeType type = autograd::training_compute_type(context);
  return (type == ComputeType::kBF16 || type == ComputeType::kF16) &&
         context.kernels().find(kRoundParameters) != nullptr;
}

Tensor allocate_rounded(Context& context, std::int64_t rows, std::int64_t cols) {
  const std::int64_t stride = (cols + kRowUnit - 1) / kRowUnit * kRowUnit;
  Tensor made = context.arena().allocate(rows, stride, rounded_type(context), context.device());
  made.cols = cols;
  return made;
}

Tensor allocate_rounded_result(Context& context, std::int64_t rows, std::int64_t cols) {
  if (cols % kRowUnit != 0 || !rounds_operands(context)) return {};
  return allocate_rounded(context, rows, cols);
}

void prepare_rounding(Context& context, const Tensor& values) {
  if (!rounds(context, values)) return;
  auto* rounded = context.extension<RoundedParameters>();
  if (rounded == nullptr) rounded = &context.attach(std::make_unique<RoundedParameters>());
  rounded->reserve(context.memory(), values);
}

void round_parameters(Context& context, const Tensor& values) {
  if (!rounds(context, values)) return;
  context.extension<RoundedParameters>()->round(context, values, rounded_type(context));
}

}  // namespace dragoman::ops

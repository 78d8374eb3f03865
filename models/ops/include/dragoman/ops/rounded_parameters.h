#pragma once

#include <dragoman/ops/types.h>

// Products in bf16 and fp16 round their operands. A weight goes into several products of a step: forward, backward, and
// once more where layers are recomputed. So a step that trains rounds all parameters once, at its beginning, and its
// products read the rounded values.
namespace dragoman::ops {

/// rounded = values, both [1, n] and contiguous; `rounded` is of kBF16 or kF16.
struct RoundParametersArguments {
  Tensor values;
  Tensor rounded;
};
/// Optional: a backend that has it reads RoundedParameters in its products.
inline constexpr KernelKey<void(Context&, const RoundParametersArguments&)> kRoundParameters{"round_parameters"};

/// The rounded parameters of the current step. They belong to that step alone: parameters do not change within a step,
/// and may change between two.
class RoundedParameters final : public tensor::ContextExtension {
 public:
  static constexpr tensor::ExtensionSlot kSlot{2};

  /// Makes room for the rounded values of `values`. Keeps the room it has if that is enough.
  void reserve(tensor::DeviceMemory& memory, const Tensor& values);
  /// Rounds `values` to the type, into the room of an earlier reserve().
  void round(Context& context, const Tensor& values, tensor::DType type);
  /// The rounded values of `x`, contiguous rows of the parameters that the current step has rounded to the type; empty
  /// for any other tensor.
  Tensor find(const Tensor& x, tensor::DType type) const noexcept {
    if (values_.empty() || type != rounded_.dtype || x.dtype != values_.dtype || !x.contiguous()) return {};
    const auto* const first = static_cast<const float*>(values_.data);
    const auto* const begin = static_cast<const float*>(x.data);
    if (begin < first || begin + x.size() > first + values_.cols) return {};
    return {static_cast<std::uint16_t*>(rounded_.data) + (begin - first), x.rows, x.cols, x.cols, type, x.device};
  }

  void begin_step() override { values_ = {}; }
  tensor::ExtensionState state() const override;

 private:
  tensor::Buffer room_;
  Tensor values_;   ///< empty: the current step has rounded nothing
  Tensor rounded_;  ///< of values_
};

/// Whether products of plain matrices on the context round operands that are worth keeping: they are computed in 16
/// bits, on a backend that has kRoundParameters.
bool rounds_operands(const Context& context);
/// Room in step memory for a matrix that is rounded to the context's training_compute_type(): [rows, cols] of kBF16 or
/// kF16, each row filled up with zeros to a multiple of 32 elements.
Tensor allocate_rounded(Context& context, std::int64_t rows, std::int64_t cols);

/// Part of a step's preparation: makes room for round_parameters().
void prepare_rounding(Context& context, const Tensor& values);
/// Part of a step's body: rounds the parameters `values`, F32 [1, n], to the context's training_compute_type(). Does
/// nothing if that is kF32, or on a backend without kRoundParameters.
void round_parameters(Context& context, const Tensor& values);

}  // namespace dragoman::ops

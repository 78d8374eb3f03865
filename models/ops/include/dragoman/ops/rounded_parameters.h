#pragma once

#include <dragoman/ops/types.h>

// Products in bf16 and fp16 round their operands. Each weight is used in several products of a training step: forward,
// backward, and again in recomputed layers. Therefore a training step rounds all parameters once at its beginning, and
// its products read the rounded values.
namespace dragoman::ops {

/// rounded = values. Both are [1, n] and contiguous; `rounded` is BF16 or F16.
struct RoundParametersArguments {
  Tensor values;
  Tensor rounded;
};
/// Optional. Backends with this kernel read RoundedParameters in their products. Their kernels also write each
/// `rounded_y` that an op passes to them.
inline constexpr KernelKey<void(Context&, const RoundParametersArguments&)> kRoundParameters{"round_parameters"};

/// The rounded parameters of the current step. They are valid within that step only, because parameters may change
/// between steps.
class RoundedParameters final : public tensor::ContextExtension {
 public:
  static constexpr tensor::ExtensionSlot kSlot{2};

  /// Allocates room for the rounded `values`, unless the existing room is large enough.
  void reserve(tensor::DeviceMemory& memory, const Tensor& values);
  /// Rounds `values` to `type`, into the room of an earlier reserve().
  void round(Context& context, const Tensor& values, tensor::DType type);
  /// Returns the rounded values of `x` if x consists of contiguous rows of the parameters that the current step has
  /// rounded to `type`. Returns an empty tensor otherwise.
  Tensor find(const Tensor& x, tensor::DType type) const noexcept {
    if (values_.empty() || type != rounded_.dtype || x.dtype != values_.dtype || !x.contiguous()) return {};
    const auto* const first = static_cast<const float*>(values_.data);
    const auto* const begin = static_cast<const float*>(x.data);
    if (begin < first || begin + x.size() > first + values_.cols) return {};
    return {static_cast<std::uint16_t*>(rounded_.data) + (begin - first), x.rows, x.cols, x.cols, type, x.device};
  }

  void begin_step() override { values_ = {}; }
  void restart(const tensor::ExtensionState&) override { values_ = {}; }
  tensor::ExtensionState state() const override;

 private:
  tensor::Buffer room_;
  Tensor values_;   ///< empty: the current step has rounded nothing
  Tensor rounded_;  ///< the rounded values_
};

/// Returns true if products of plain matrices on this context round operands in a way that is worth keeping. They do if
/// they are computed in 16 bits on a backend with kRoundParameters.
bool rounds_operands(const Context& context);
/// Allocates step memory for a matrix rounded to the context's training_compute_type(): [rows, cols] of BF16 or F16.
/// Each row is padded with zeros to a multiple of 32 elements.
Tensor allocate_rounded(Context& context, std::int64_t rows, std::int64_t cols);
/// Returns allocate_rounded() for an op whose kernel rounds its result in the pass that computes it, so that products
/// need not round it again (Variable::rounded). Returns an empty tensor if products do not round operands, and for rows
/// that would need padding.
Tensor allocate_rounded_result(Context& context, std::int64_t rows, std::int64_t cols);

/// Makes room for round_parameters(). It is part of the preparation of a step.
void prepare_rounding(Context& context, const Tensor& values);
/// Rounds the parameters `values`, F32 [1, n], to the context's training_compute_type(). It is part of the body of a
/// step. Has no effect if that type is kF32, or on a backend without kRoundParameters.
void round_parameters(Context& context, const Tensor& values);

}  // namespace dragoman::ops

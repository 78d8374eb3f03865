#include "average_attention.h"

#include <vector>

#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/slice.h>

namespace example {

namespace nn = dragoman::nn;
namespace ops = dragoman::ops;
using dragoman::tensor::Tensor;

AverageAttention::AverageAttention(const nn::Scope& scope, const dragoman::transformer::Config& config,
                                   nn::StateLayout& layout)
    : gates_from_token_(scope / "gates_from_token", config.d_model, 2 * config.d_model, {.projections = 2}),
      gates_from_average_(scope / "gates_from_average", config.d_model, 2 * config.d_model,
                          {.bias = false, .projections = 2}),
      sum_(layout.add_row_state(config.d_model)) {}

/// Token by token out of the toolkit's ops: so it runs on every device and needs no backward function. Speed would ask
/// for an op with a kernel for each device instead, as in examples/op.
Variable AverageAttention::running_average(Context& context, const Variable& x, nn::DecoderState& state) const {
  const Tensor before = state.previous(context, sum_);  // empty in teaching forcing: all sums begin at zero
  const Tensor after = before.empty() ? Tensor{} : context.allocate(before.rows, before.cols);
  const auto offsets = state.row_offsets().host;
  const auto positions = state.positions().host;
  std::vector<ops::Placed> averages;
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
    const auto r = static_cast<std::int64_t>(row);
    Variable sum = before.empty() ? Variable{} : Variable{before.row_range(r, r + 1), nullptr};
    for (std::int64_t t = offsets[row]; t < offsets[row + 1]; ++t) {
      const Variable token = ops::slice(context, x, t, t + 1, 0, x.value.cols);
      sum = sum.empty() ? token : ops::add(context, sum, token);
      const double count = positions[static_cast<std::size_t>(t)] + 1.0;
      averages.push_back({ops::scale(context, sum, 1 / count), t, 0});
    }
    if (!after.empty()) context.kernels().get(ops::kScale)(context, {sum.value, 1, after.row_range(r, r + 1), false});
  }
  state.store(context, sum_, after);
  return ops::assemble(context, x.value.rows, x.value.cols, averages);
}

Variable AverageAttention::operator()(Context& context, const Variable& x, nn::DecoderState& state) const {
  const Variable average = running_average(context, x, state);
  const Variable sums = ops::add(context, gates_from_token_(context, x), gates_from_average_(context, average));
  const auto [input_gate, forget_gate] =
      ops::split_columns<2>(context, ops::activate(context, sums, ops::Activation::kSigmoid));
  return ops::add(context, ops::multiply(context, input_gate, x), ops::multiply(context, forget_gate, average));
}

}  // namespace example

#include "recurrent_unit.h"

namespace dragoman::ssru {

RecurrentUnit::RecurrentUnit(const nn::Scope& scope, const transformer::Config& config, nn::StateLayout& layout)
    : candidate_(scope / "candidate", config.d_model, config.d_model, {.bias = false}),
      forget_(scope / "forget", config.d_model, config.d_model),
      cell_(layout.add_row_state(config.d_model)) {}

Variable RecurrentUnit::operator()(Context& context, const Variable& x, nn::DecoderState& state) const {
  const Variable candidates = candidate_(context, x);
  const Variable forget = forget_(context, x, ops::Activation::kSigmoid);
  const ScanResult result = scan(context, candidates, forget, state.previous(context, cell_), state.row_offsets());
  state.store(context, cell_, result.latest);
  return ops::activate(context, result.cells, ops::Activation::kRelu);
}

}  // namespace dragoman::ssru

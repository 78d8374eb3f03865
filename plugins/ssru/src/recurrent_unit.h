#pragma once

#include "ssru_scan.h"

#include <dragoman/nn/decoder_state.h>
#include <dragoman/nn/layers.h>
#include <dragoman/transformer/config.h>

namespace dragoman::ssru {

/// The simpler simple recurrent unit (Kim et al. 2019, sec. 3.1), x [T, d] -> [T, d]:
///
///     f_t = sigmoid(W_f x_t + b_f)
///     c_t = f_t * c_{t-1} + (1 - f_t) * W x_t
///     o_t = ReLU(c_t)
///
/// The state of a hypothesis is one row of d values, independent of its length. Causal self-attention keeps 2 d values
/// per token.
class RecurrentUnit {
 public:
  static constexpr std::string_view kName = "unit";
  RecurrentUnit(const nn::Scope& scope, const transformer::Config& config, nn::StateLayout& layout);
  Variable operator()(Context& context, const Variable& x, nn::DecoderState& state) const;

 private:
  nn::Linear candidate_;
  nn::Linear forget_;
  nn::RowStateId cell_;
};

}  // namespace dragoman::ssru

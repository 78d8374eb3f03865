#pragma once

#include <dragoman/nn/decoder_state.h>
#include <dragoman/nn/layers.h>
#include <dragoman/transformer/config.h>

namespace example {

using dragoman::nn::Variable;
using dragoman::tensor::Context;

/// Average attention (Zhang, Xiong & Su 2018, "Accelerating Neural Transformer via an Average Attention Network", eq.
/// 1, 4, 5, without the inner feed-forward layer), x [T, d] -> [T, d]:
///
///     g_t = (x_1 + ... + x_t) / t
///     i_t, f_t = sigmoid(W x_t + V g_t)
///     y_t = i_t * x_t + f_t * g_t
///
/// A hypothesis is remembered by one row: the sum so far.
class AverageAttention {
 public:
  static constexpr std::string_view kName = "average_attention";
  /// It walks from token to token, so its calls depend on the lengths of the sequences.
  static constexpr bool kRecordable = false;
  AverageAttention(const dragoman::nn::Scope& scope, const dragoman::transformer::Config& config,
                   dragoman::nn::StateLayout& layout);
  Variable operator()(Context& context, const Variable& x, dragoman::nn::DecoderState& state) const;

 private:
  Variable running_average(Context& context, const Variable& x, dragoman::nn::DecoderState& state) const;

  dragoman::nn::Linear gates_from_token_;
  dragoman::nn::Linear gates_from_average_;
  dragoman::nn::RowStateId sum_;
};

}  // namespace example

#pragma once

#include <dragoman/nn/layers.h>
#include <dragoman/transformer/config.h>

namespace dragoman::transformer {

using nn::Variable;
using tensor::Context;

/// The residual path through a stack of sub-layers, for both places of the norm. Each sub-layer does
///
///     stream.output(context, norm, sub_layer(stream.input(context, norm)));
///
/// With kPre the sum of a sub-layer is delayed until the next norm needs it, so that dropout, residual sum and norm are
/// one pass over memory.
class ResidualStream {
 public:
  ResidualStream(const Config& config, const Variable& x)
      : place_(config.norm), dropout_(config.dropout.sub_layer), x_(x) {}

  /// What the sub-layer computes on: LayerNorm(x) with kPre, x with kPost.
  Variable input(Context& context, const nn::LayerNorm& norm);
  /// Adds the sub-layer's output; with kPost the sum is normalised.
  void output(Context& context, const nn::LayerNorm& norm, const Variable& out);
  /// The value of the stream, all sums done.
  Variable value(Context& context);
  /// The value after a stack: normalised if there is a final norm.
  Variable close(Context& context, const nn::LayerNorm* final_norm);

 private:
  NormPlace place_;
  double dropout_;
  Variable x_;
  Variable pending_;
};

}  // namespace dragoman::transformer

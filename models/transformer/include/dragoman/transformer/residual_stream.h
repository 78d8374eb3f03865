#pragma once

#include <array>

#include <dragoman/nn/layers.h>
#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/recompute.h>
#include <dragoman/transformer/config.h>

namespace dragoman::transformer {

using nn::Variable;
using tensor::Context;

/// The residual path through a stack of sub-layers, for both positions of the norm.
///
///     void run(Context& context, ResidualStream& stream, const nn::LayerNorm& norm, const nn::FeedForward& part) {
///       stream.output(context, norm, part(context, stream.input(context, norm)));
///     }
///
/// With kPre, the sum of a sub-layer is delayed until the next norm needs it. Then dropout, residual sum and norm take
/// one pass over memory. In training, the inputs of all sub-layers share memory if ops::shares_norm_memory() advises
/// it; the backward pass computes them again. The sums overwrite the outputs of sub-layers that are spare.
///
/// Belongs to the thread of the context and is valid within one step.
class ResidualStream {
 public:
  ResidualStream(const Config& config, const Variable& x)
      : place_(config.norm), dropout_(config.dropout.sub_layer), x_(x) {}

  /// Returns the input of the sub-layer: LayerNorm(x) with kPre, x with kPost. With kPre it is valid until output(),
  /// and what output() was given until the next input().
  Variable input(Context& context, const nn::LayerNorm& norm);
  /// Adds the sub-layer's output. With kPost, normalises the sum.
  void output(Context& context, const nn::LayerNorm& norm, const Variable& out);
  /// The value of the stream, with all pending sums added.
  Variable value(Context& context);
  /// Runs `layer(context, stream)`, a part of the stack, so that the backward pass may recompute it. See
  /// ops::recompute() for what `layer` may hold.
  template <class Layer>
  void run(Context& context, const Layer& layer);
  /// Returns the value after the stack, normalised if there is a final norm.
  Variable close(Context& context, const nn::LayerNorm* final_norm);

 private:
  ResidualStream(NormPlace place, double dropout, const std::array<Variable, 2>& parts, const tensor::Tensor& shared)
      : place_(place), dropout_(dropout), x_(parts[0]), pending_(parts[1]), shared_(shared) {}

  NormPlace place_;
  double dropout_;
  Variable x_;
  Variable pending_;
  tensor::Tensor shared_;  ///< the memory of the inputs of all sub-layers, if they share it
  ops::NormAgain again_;   ///< of the current input
};

template <class Layer>
void ResidualStream::run(Context& context, const Layer& layer) {
  if (place_ == NormPlace::kPre && shared_.empty() && ops::shares_norm_memory(context))
    shared_ = context.allocate(x_.value.rows, x_.value.cols);
  const auto body = [layer, place = place_, dropout = dropout_, shared = shared_](
                        Context& ctx, const std::array<Variable, 2>& inputs) {
    ResidualStream stream(place, dropout, inputs, shared);
    layer(ctx, stream);
    return std::array{stream.x_, stream.pending_};
  };
  const std::array<Variable, 2> results = ops::recompute(context, std::array{x_, pending_}, body);
  x_ = results[0];
  pending_ = results[1];
}

}  // namespace dragoman::transformer

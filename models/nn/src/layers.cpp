#include "dragoman/nn/layers.h"

#include <dragoman/ops/dropout.h>
#include <dragoman/ops/feed_forward.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/slice.h>

namespace dragoman::nn {

Linear::Linear(const Scope& scope, std::int64_t inputs, std::int64_t outputs, Options options) {
  Parameter& weight =
      scope.matrix("weight", outputs, inputs, Initialiser::xavier_uniform(inputs, outputs / options.projections));
  weight.is_weight = true;
  weight.projections = options.projections;
  weight.share_initialisers = std::move(options.initialisers);
  weight_ = &weight;
  if (options.bias) bias_ = &scope.vector("bias", outputs, Initialiser::constant(0));
}

Variable Linear::operator()(Context& context, const Variable& x, ops::Activation activation) const {
  return ops::linear(context, x, weight_->weight(), bias(), activation);
}

Variable Linear::dropped(Context& context, const Variable& x, ops::Activation activation, double dropout) const {
  return ops::dropped_linear(context, x, weight_->weight(), bias(), activation, dropout);
}

LayerNorm::LayerNorm(const Scope& scope, std::int64_t width, double epsilon)
    : gain_(&scope.vector("weight", width, Initialiser::constant(1))),
      bias_(&scope.vector("bias", width, Initialiser::constant(0))),
      epsilon_(epsilon) {}

Variable Linear::then(Context& context, const Variable& x, ops::Activation activation, const Linear& after) const {
  return ops::feed_forward(context, x, weight_->weight(), bias(), activation, after.weight_->weight(), after.bias());
}

Variable LayerNorm::operator()(Context& context, const Variable& x) const {
  return ops::layer_norm(context, x, gain_->variable(), bias_->variable(), epsilon_);
}

ops::ResidualNorm LayerNorm::after_residual(Context& context, const Variable& residual, const Variable& x,
                                            double dropout, const ops::NormMemory& memory) const {
  return ops::residual_dropout_layer_norm(context, residual, x, dropout, gain_->variable(), bias_->variable(), epsilon_,
                                          memory);
}

Variable RmsNorm::operator()(Context& context, const Variable& x) const {
  return ops::rms_norm(context, x, gain_->variable(), epsilon_);
}

ops::ResidualNorm RmsNorm::after_residual(Context& context, const Variable& residual, const Variable& x,
                                          double dropout) const {
  return ops::residual_dropout_rms_norm(context, residual, x, dropout, gain_->variable(), epsilon_);
}

namespace {

Linear::Options of_projections(Linear::Options options, int projections) {
  options.projections = projections;
  return options;
}

}  // namespace

FeedForward::FeedForward(const Scope& scope, std::int64_t width, std::int64_t inner, FeedForwardActivation activation,
                         double dropout, Linear::Options in, const Linear::Options& out)
    : in_(scope / "in", width, activation.gated ? 2 * inner : inner,
          of_projections(std::move(in), activation.gated ? 2 : 1)),
      out_(scope / "out", inner, width, out),
      activation_(activation),
      dropout_(dropout) {}

Variable FeedForward::operator()(Context& context, const Variable& x) const {
  const bool drops = autograd::is_training(context) && dropout_ > 0;
  if (!activation_.gated && !drops) return in_.then(context, x, activation_.activation, out_);
  if (!activation_.gated) return out_(context, in_.dropped(context, x, activation_.activation, dropout_));
  const auto [gate, value] = ops::split_columns<2>(context, in_(context, x));
  const Variable inner = ops::multiply(context, ops::activate(context, gate, activation_.activation), value);
  return out_(context, ops::dropout(context, inner, dropout_));
}

}  // namespace dragoman::nn

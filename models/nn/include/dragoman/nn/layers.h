#pragma once

#include <dragoman/nn/parameters.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/layer_norm.h>

namespace dragoman::nn {

/// A linear layer: y = activation(x W^T + b). W [outputs, inputs] is the parameter `<scope>.weight`, b [outputs]
/// `<scope>.bias`.
///
///     ParameterStore store;
///     const Linear layer(Scope(store) / "layer", /*inputs=*/512, /*outputs=*/2048);     // layer.weight, layer.bias
///
/// A layer refers to parameters of the store, which must outlive it. Layers of this header are immutable: threads may
/// share them, each with its own context.
class Linear {
 public:
  struct Options {
    bool bias = true;
    /// The number of projections of equal size that the weight combines (query, key, value). Each is initialised as a
    /// separate matrix.
    int projections = 1;
    /// The initialiser of each projection; empty: Initialiser::xavier_uniform().
    std::vector<Initialiser> initialisers{};
  };
  Linear(const Scope& scope, std::int64_t inputs, std::int64_t outputs, Options options);
  Linear(const Scope& scope, std::int64_t inputs, std::int64_t outputs) : Linear(scope, inputs, outputs, Options{}) {}
  Variable operator()(Context& context, const Variable& x, ops::Activation activation = ops::Activation::kNone) const;
  /// Returns dropout(activation((*this)(x))).
  Variable dropped(Context& context, const Variable& x, ops::Activation activation, double dropout) const;
  /// Returns after(activation((*this)(x))).
  Variable then(Context& context, const Variable& x, ops::Activation activation, const Linear& after) const;

 private:
  Variable bias() const { return bias_ != nullptr ? bias_->variable() : Variable{}; }

  const Parameter* weight_;
  const Parameter* bias_ = nullptr;
};

/// Layer normalisation with gain `<scope>.weight` (ones) and bias `<scope>.bias` (zeros), named as in PyTorch.
class LayerNorm {
 public:
  LayerNorm(const Scope& scope, std::int64_t width, double epsilon);
  Variable operator()(Context& context, const Variable& x) const;
  /// Returns {residual + dropout(x), its norm}.
  ops::ResidualNorm after_residual(Context& context, const Variable& residual, const Variable& x, double dropout,
                                   const ops::NormMemory& memory = {}) const;

 private:
  const Parameter* gain_;
  const Parameter* bias_;
  double epsilon_;
};

/// ops::rms_norm with gain `<scope>.weight` (ones).
class RmsNorm {
 public:
  RmsNorm(const Scope& scope, std::int64_t width, double epsilon)
      : gain_(&scope.vector("weight", width, Initialiser::constant(1))), epsilon_(epsilon) {}
  Variable operator()(Context& context, const Variable& x) const;
  /// Returns {residual + dropout(x), its norm}.
  ops::ResidualNorm after_residual(Context& context, const Variable& residual, const Variable& x, double dropout) const;

 private:
  const Parameter* gain_;
  double epsilon_;
};

/// relu, gelu or swish, optionally gated (Shazeer 2020, "GLU Variants Improve Transformer"). Gated, the inner values
/// are act(x W) * (x V).
struct FeedForwardActivation {
  ops::Activation activation = ops::Activation::kRelu;
  bool gated = false;
  bool operator==(const FeedForwardActivation&) const = default;
};

/// The feed-forward sub-layer out(dropout(activation(in(x)))), where `dropout` is the activation dropout. The caller
/// adds residual and norm. The options of the layers apply, except `in.projections`, which the activation determines.
class FeedForward {
 public:
  FeedForward(const Scope& scope, std::int64_t width, std::int64_t inner, FeedForwardActivation activation,
              double dropout, Linear::Options in = {}, const Linear::Options& out = {});
  Variable operator()(Context& context, const Variable& x) const;

 private:
  Linear in_;
  Linear out_;
  FeedForwardActivation activation_;
  double dropout_;
};

}  // namespace dragoman::nn

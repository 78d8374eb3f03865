#pragma once

#include <dragoman/nn/parameters.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/layer_norm.h>

namespace dragoman::nn {

/// y = activation(x W^T + b), W [outputs, inputs] as `<scope>.weight`, b [outputs] as `<scope>.bias`.
class Linear {
 public:
  struct Options {
    bool bias = true;
    /// The weight may stand for several projections of equal inputs side by side (query, key, value): each is
    /// initialised as if it stood alone.
    int projections = 1;
    /// How the weight of each projection starts out; empty: as Initialiser::xavier_uniform() has it.
    std::vector<Initialiser> initialisers{};
  };
  Linear(const Scope& scope, std::int64_t inputs, std::int64_t outputs, Options options);
  Linear(const Scope& scope, std::int64_t inputs, std::int64_t outputs) : Linear(scope, inputs, outputs, Options{}) {}
  Variable operator()(Context& context, const Variable& x, ops::Activation activation = ops::Activation::kNone) const;
  /// after(activation((*this)(x))).
  Variable then(Context& context, const Variable& x, ops::Activation activation, const Linear& after) const;

 private:
  Variable bias() const { return bias_ != nullptr ? bias_->variable() : Variable{}; }

  const Parameter* weight_;
  const Parameter* bias_ = nullptr;
};

/// Gain `<scope>.weight` (ones) and bias `<scope>.bias` (zeros), the names that PyTorch uses.
class LayerNorm {
 public:
  LayerNorm(const Scope& scope, std::int64_t width, double epsilon);
  Variable operator()(Context& context, const Variable& x) const;
  /// {residual + dropout(x), norm of that}.
  ops::ResidualNorm after_residual(Context& context, const Variable& residual, const Variable& x, double dropout) const;

 private:
  const Parameter* gain_;
  const Parameter* bias_;
  double epsilon_;
};

/// Gain `<scope>.weight` (ones): ops::rms_norm.
class RmsNorm {
 public:
  RmsNorm(const Scope& scope, std::int64_t width, double epsilon)
      : gain_(&scope.vector("weight", width, Initialiser::constant(1))), epsilon_(epsilon) {}
  Variable operator()(Context& context, const Variable& x) const;
  /// {residual + dropout(x), norm of that}.
  ops::ResidualNorm after_residual(Context& context, const Variable& residual, const Variable& x, double dropout) const;

 private:
  const Parameter* gain_;
  double epsilon_;
};

/// relu, gelu, swish and their gated forms (Shazeer 2020, "GLU Variants Improve Transformer"): gated inner = act(x W) *
/// (x V).
struct FeedForwardActivation {
  ops::Activation activation = ops::Activation::kRelu;
  bool gated = false;
  bool operator==(const FeedForwardActivation&) const = default;
};

/// out(dropout(activation(in(x)))), `dropout` being the activation dropout. The caller adds residual and norm.
/// Options of the layers are used but for `in.projections`, which follows from the activation.
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

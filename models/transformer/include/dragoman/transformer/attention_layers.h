#pragma once

#include <dragoman/nn/decoder_state.h>
#include <dragoman/nn/layers.h>
#include <dragoman/transformer/config.h>

namespace dragoman::transformer {

using nn::Scope;
using nn::Variable;
using tensor::Context;

/// Applies the scaling of attention at the place that Config::query_scaling selects.
class QueryScaling {
 public:
  explicit QueryScaling(const Config& config);
  /// Returns the queries as they enter the products with the keys.
  Variable operator()(Context& context, const Variable& q) const;
  /// The remaining scale for ops::AttentionOptions::scale. 1: the queries are already scaled; 0: the default scale.
  double scale() const noexcept { return early_ ? 1 : 0; }

 private:
  bool early_;
  double factor_;
};

/// Self-attention over whole sequences (encoder): x [T, d] -> [T, d].
class SelfAttention {
 public:
  SelfAttention(const Scope& scope, const Config& config);
  Variable operator()(Context& context, const Variable& x, const ops::Offsets& offsets) const;

 private:
  nn::Linear qkv_;
  nn::Linear out_;
  QueryScaling scaling_;
  int heads_;
  double dropout_;
};

/// Causal self-attention of a decoder: each row sees its own history and itself.
class CausalSelfAttention {
 public:
  CausalSelfAttention(const Scope& scope, const Config& config, nn::StateLayout& layout);
  Variable operator()(Context& context, const Variable& x, nn::DecoderState& state) const;

 private:
  nn::Linear qkv_;
  nn::Linear out_;
  nn::HistoryId history_;
  QueryScaling scaling_;
  int heads_;
  double dropout_;
};

/// The decoder's attention to the source. memory() computes keys and values once per sentence.
class CrossAttention {
 public:
  CrossAttention(const Scope& scope, const Config& config, nn::StateLayout& layout);
  /// Returns keys and values [T_source, d] for all sentences of encoder_states.
  nn::KeyValue memory(Context& context, const Variable& encoder_states) const;
  Variable operator()(Context& context, const Variable& x, nn::DecoderState& state) const;
  nn::MemoryId memory_id() const noexcept { return memory_; }

 private:
  nn::Linear q_;
  nn::Linear kv_;
  nn::Linear out_;
  nn::MemoryId memory_;
  QueryScaling scaling_;
  int heads_;
  double dropout_;
};

}  // namespace dragoman::transformer

#pragma once

#include <memory>
#include <optional>

#include <dragoman/nn/constant.h>
#include <dragoman/nn/layers.h>
#include <dragoman/transformer/config.h>

namespace dragoman::transformer {

using nn::Variable;
using tensor::Context;

/// Adds a matrix of token embeddings [vocabulary, width], initialised according to Config::init.
nn::Parameter& make_embedding_table(const nn::Scope& scope, std::string_view name, std::int64_t vocabulary,
                                    std::int64_t width, const Config& config);
inline nn::Parameter& make_embedding_table(const nn::Scope& scope, std::string_view name, std::int64_t vocabulary,
                                           const Config& config) {
  return make_embedding_table(scope, name, vocabulary, config.d_model, config);
}

/// Maps tokens and positions to the input of a stack: dropout(norm?(scale * table[token] + position)).
///
///     nn::ParameterStore store;
///     const Config config;
///     const nn::Scope scope(store);
///     const nn::Parameter& table = make_embedding_table(scope, "embedding", /*vocabulary=*/8000, config);
///     const Embeddings embeddings(scope, table, /*maximum_length=*/512, config);
///
/// It refers to parameters of the store, which must outlive it. Immutable: threads may share it.
class Embeddings {
 public:
  /// `table` may be shared (tying). Position tables have rows for sequences of up to `maximum_length` tokens.
  Embeddings(const nn::Scope& scope, const nn::Parameter& table, std::int64_t maximum_length, const Config& config);
  Variable operator()(Context& context, const ops::Indices& tokens, const ops::Indices& positions) const;

 private:
  Variable position_table(const Context& context) const;

  const nn::Parameter* table_;
  const nn::Parameter* learned_positions_ = nullptr;
  std::unique_ptr<nn::Constant> sinusoids_;
  std::optional<nn::LayerNorm> norm_;
  double scale_;
  double dropout_;
  std::int32_t first_position_ = 0;
};

}  // namespace dragoman::transformer

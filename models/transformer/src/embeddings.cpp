#include "dragoman/transformer/embeddings.h"

#include <algorithm>
#include <cmath>

#include <dragoman/ops/dropout.h>
#include <dragoman/ops/embedding.h>

namespace dragoman::transformer {
namespace {

nn::Initialiser table_initialiser(std::int64_t rows, std::int64_t width, const Config& config) {
  if (config.init == TableInit::kXavierUniform) return nn::Initialiser::xavier_uniform(width, rows);
  return nn::Initialiser::normal(1 / std::sqrt(static_cast<double>(width)));
}

std::vector<double> sinusoids(const Config& config, std::int64_t maximum_length) {
  std::vector<double> table = nn::sinusoidal_positions(config.positions, config.position_offset + maximum_length,
                                                       config.d_model, config.position_base);
  table.erase(table.begin(), table.begin() + config.position_offset * config.d_model);
  return table;
}

}  // namespace

nn::Parameter& make_embedding_table(const nn::Scope& scope, std::string_view name, std::int64_t vocabulary,
                                    std::int64_t width, const Config& config) {
  nn::Parameter& table =
      (scope / name).matrix("weight", vocabulary, width, table_initialiser(vocabulary, width, config));
  table.is_table = true;
  return table;
}

Embeddings::Embeddings(const nn::Scope& scope, const nn::Parameter& table, std::int64_t maximum_length,
                       const Config& config)
    : table_(&table),
      scale_(config.embedding_scale ? std::sqrt(static_cast<double>(config.d_model)) : 1),
      dropout_(config.dropout.embedding) {
  if (config.positions == nn::PositionKind::kLearned) {
    first_position_ = static_cast<std::int32_t>(config.position_offset);
    const std::int64_t rows = config.position_offset + maximum_length;
    learned_positions_ =
        &(scope / "positions").matrix("weight", rows, config.d_model, table_initialiser(rows, config.d_model, config));
  } else {
    sinusoids_ = std::make_unique<nn::Constant>(maximum_length, config.d_model,
                                                [config, maximum_length] { return sinusoids(config, maximum_length); });
  }
  if (config.embedding_norm) norm_.emplace(scope / "norm", config.d_model, config.layer_norm_epsilon);
}

Variable Embeddings::position_table(const Context& context) const {
  return learned_positions_ != nullptr ? learned_positions_->variable() : Variable{sinusoids_->on(context), nullptr};
}

Variable Embeddings::operator()(Context& context, const ops::Indices& tokens, const ops::Indices& positions) const {
  const ops::EmbeddingOptions options{
      .scale = scale_, .dropout = norm_ ? 0 : dropout_, .first_position = first_position_};
  const Variable x = ops::embedding(context, tokens, table_->weight(), positions, position_table(context), options);
  return norm_ ? ops::dropout(context, (*norm_)(context, x), dropout_) : x;
}

}  // namespace dragoman::transformer

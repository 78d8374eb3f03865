#pragma once

#include <optional>

#include <dragoman/nn/layers.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/transformer/config.h>

namespace dragoman::transformer {

/// The embedding tables and the output projection, tied as configured. Parameters:
///
/// - `embedding.weight` if source and target share a table, otherwise `source_embedding.weight` and
///   `target_embedding.weight`;
/// - `output_projection.weight` if Config::output_width is set;
/// - `output.weight` unless the output matrix is the target table;
/// - `output.bias`.
///
/// It refers to parameters of the store, which must outlive it. Immutable: threads may share it.
class VocabularyMatrices {
 public:
  /// Error{kBadInput} if the tying requires one vocabulary but the sizes of the two sides differ.
  VocabularyMatrices(const nn::Scope& scope, const nn::SequenceSpec& spec, const Config& config);
  const nn::Parameter& source() const noexcept { return *source_; }
  const nn::Parameter& target() const noexcept { return *target_; }
  /// Maps decoder states [T, d_model] to the input of output(), [T, output_width].
  nn::Variable for_output(nn::Context& context, const nn::Variable& states) const {
    return projection_ ? (*projection_)(context, states) : states;
  }
  /// The projection to the target vocabulary.
  ops::Projection output() const;

 private:
  const nn::Parameter* source_;
  const nn::Parameter* target_;
  std::optional<nn::Linear> projection_;
  const nn::Parameter* output_;
  const nn::Parameter* bias_ = nullptr;
};

}  // namespace dragoman::transformer

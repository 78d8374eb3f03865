#include "dragoman/transformer/vocabulary_matrices.h"

#include "dragoman/transformer/embeddings.h"

#include <dragoman/core/error.h>

namespace dragoman::transformer {

VocabularyMatrices::VocabularyMatrices(const nn::Scope& scope, const nn::SequenceSpec& spec, const Config& config) {
  nn::Parameter* target = nullptr;
  if (config.tying == Tying::kAll || config.tying == Tying::kSourceTarget) {
    core::require(spec.source_vocabulary == spec.target_vocabulary, core::ErrorCode::kBadInput,
                  "tying source and target embeddings needs one joint vocabulary, but the sides have {} and {} pieces; "
                  "use tying: "
                  "target-output or none",
                  spec.source_vocabulary, spec.target_vocabulary);
    target = &make_embedding_table(scope, "embedding", spec.target_vocabulary, config);
    source_ = target;
  } else {
    source_ = &make_embedding_table(scope, "source_embedding", spec.source_vocabulary, config);
    target = &make_embedding_table(scope, "target_embedding", spec.target_vocabulary, config);
  }
  target_ = target;
  const std::int64_t width = config.output_width == 0 ? config.d_model : config.output_width;
  if (config.output_width != 0)
    projection_.emplace(scope / "output_projection", config.d_model, width, nn::Linear::Options{.bias = false});
  nn::Parameter* output = target;
  if (!ties_output(config.tying))
    output = &make_embedding_table(scope, "output", spec.target_vocabulary, width, config);
  output->is_weight = true;
  output_ = output;
  if (config.output_bias)
    bias_ = &(scope / "output").vector("bias", spec.target_vocabulary, nn::Initialiser::constant(0));
}

ops::Projection VocabularyMatrices::output() const {
  return {output_->weight(), bias_ != nullptr ? bias_->variable() : nn::Variable{}};
}

}  // namespace dragoman::transformer

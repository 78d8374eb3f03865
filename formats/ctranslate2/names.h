#pragma once

#include "weights/transformer_names.h"

namespace dragoman::imports {

/// The names of the arrays of CTranslate2's TransformerSpec. A linear layer without a bias has a bias of zeros.
class Ctranslate2Names final : public TransformerNames {
 public:
  /// `source_table` is embeddings_0, or embeddings in older files.
  explicit Ctranslate2Names(std::string source_table = "encoder/embeddings_0/weight")
      : source_table_(std::move(source_table)) {}

  Pair linear(Side side, int layer, LinearKind kind, bool gated) const override;
  Pair norm(Side side, int layer, NormKind kind) const override;
  WeightPart table(TableKind kind) const override;
  WeightPart positions(Side side) const override;
  WeightPart output_bias() const override { return {.name = "decoder/projection/bias", .optional = true}; }
  WeightPart output_projection() const override { return {.name = "decoder/project_out/weight"}; }

 private:
  std::string source_table_;
};

}  // namespace dragoman::imports

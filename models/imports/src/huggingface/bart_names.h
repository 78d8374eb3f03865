#pragma once

#include "weights/transformer_names.h"

namespace dragoman::imports {

/// As MarianMTModel and its relatives (BART's) name their arrays.
class BartNames final : public TransformerNames {
 public:
  /// `shared`: source and target have one table of embeddings.
  explicit BartNames(bool shared) : shared_(shared) {}

  Pair linear(Side side, int layer, LinearKind kind, bool gated) const override;
  Pair norm(Side side, int layer, NormKind kind) const override;
  WeightPart table(TableKind kind) const override;
  WeightPart positions(Side side) const override;
  WeightPart output_bias() const override;
  WeightPart output_projection() const override { return {}; }

 private:
  bool shared_;
};

}  // namespace dragoman::imports

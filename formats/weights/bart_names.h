#pragma once

#include "weights/transformer_names.h"

namespace dragoman::imports {

/// fairseq's names for the arrays of a Transformer, which transformers also uses for BART and its relatives.
class BartNames final : public TransformerNames {
 public:
  struct Options {
    std::string prefix = "model.";  ///< before "encoder" and "decoder"
    std::string shared{};           ///< the table of both sides, if there is one
    std::string output = "lm_head.weight";
  };
  explicit BartNames(Options options) : options_(std::move(options)) {}

  Pair linear(Side side, int layer, LinearKind kind, bool gated) const override;
  Pair norm(Side side, int layer, NormKind kind) const override;
  WeightPart table(TableKind kind) const override;
  WeightPart positions(Side side) const override;
  WeightPart output_bias() const override { return {.name = "final_logits_bias"}; }
  WeightPart output_projection() const override;

 private:
  Options options_;
};

}  // namespace dragoman::imports

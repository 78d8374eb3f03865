#pragma once

#include "weights/transformer_names.h"

namespace dragoman::imports {

/// Marian's names for the arrays of a Transformer. Its matrices are inputs x outputs.
class MarianNames final : public TransformerNames {
 public:
  struct Options {
    bool pre_norm = false;
    bool shares_tables = true;           ///< one table, Wemb, for both sides
    bool output_is_turned = false;       ///< the old layout of a separate output matrix
    std::vector<int> decoder_numbers{};  ///< of the decoder's layers, from 1; empty: in order
  };
  explicit MarianNames(Options options) : options_(std::move(options)) {}

  Pair linear(Side side, int layer, LinearKind kind, bool gated) const override;
  Pair norm(Side side, int layer, NormKind kind) const override;
  WeightPart table(TableKind kind) const override;
  WeightPart positions(Side) const override { return {}; }  // there are no learned ones
  WeightPart output_bias() const override { return {.name = "decoder_ff_logit_out_b", .optional = true}; }
  WeightPart output_projection() const override;

 private:
  std::string scope(Side side, int layer) const;

  Options options_;
};

}  // namespace dragoman::imports

#pragma once

#include "weights/weight_plan.h"

#include <cstdint>

#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/transformer/config.h>

namespace dragoman::imports {

enum class Side : std::uint8_t { kEncoder, kDecoder };

/// Returns the name of a side in the parameters of Dragoman and of most toolkits.
inline const char* name_of(Side side) {
  return side == Side::kEncoder ? "encoder" : "decoder";
}

/// The linear layers of a Transformer's layers. One that combines several projections is Dragoman's layout.
enum class LinearKind : std::uint8_t {
  kSelfQkv,  ///< query, key, value
  kSelfOut,  ///< of self-attention
  kCrossQ,   ///< of attention to the source
  kCrossKv,  ///< key, value
  kCrossOut,
  kInner,  ///< of the feed-forward layer; gated: the activated half, the other
  kOuter,
  kCandidate,  ///< of a recurrent unit that replaces a decoder's self-attention
  kForget,
};

/// The norms of a Transformer. Norms in a layer are named after the sub-layer.
enum class NormKind : std::uint8_t { kEmbedding, kSelf, kCross, kFeedForward, kFinal, kRecurrent };

/// The matrices over the vocabularies.
enum class TableKind : std::uint8_t { kSource, kTarget, kOutput };

/// The names of the arrays of a Transformer in another toolkit. Layers are numbered like the parameters: for tied
/// layers, with the number of the first one.
class TransformerNames {
 public:
  struct Pair {
    std::vector<WeightPart> weight;
    std::vector<WeightPart> bias;
  };

  TransformerNames() = default;
  TransformerNames(const TransformerNames&) = delete;
  TransformerNames& operator=(const TransformerNames&) = delete;
  virtual ~TransformerNames();

  virtual Pair linear(Side side, int layer, LinearKind kind, bool gated) const = 0;
  /// `layer` is -1 for a norm of a whole stack.
  virtual Pair norm(Side side, int layer, NormKind kind) const = 0;
  virtual WeightPart table(TableKind kind) const = 0;
  virtual WeightPart positions(Side side) const = 0;
  virtual WeightPart output_bias() const = 0;
  virtual WeightPart output_projection() const = 0;
};

struct TransformerShape {
  transformer::Config config;
  nn::SequenceSpec sequences;
  /// The decoder's layers have a recurrent unit (the model type "ssru") instead of self-attention.
  bool recurrent = false;
  /// The decoder's first input is a vector of zeros: the row of its start token.
  bool zero_start = false;
  /// The file has no row for the decoder's start token, which requires zero_start. This token is the last one of the
  /// target's vocabulary and, if tables are shared, of the source's. It is never generated.
  bool adds_start = false;
  /// The first row of the target's table without a piece in the file's vocabulary, or -1 if there is none. Tokens of
  /// these rows are never generated, which requires config.output_bias.
  std::int64_t unused_from = -1;
  /// The file has separate parameters for each layer, whether tied or not.
  bool untied_layers = false;
  /// The file has tied matrices under each of their names.
  bool untied_tables = false;

  /// Returns whether source and target have one table.
  bool joint() const noexcept {
    return config.tying == transformer::Tying::kAll || config.tying == transformer::Tying::kSourceTarget;
  }
  /// Return the number of pieces that the file has rows for.
  std::int64_t source_pieces() const noexcept { return sequences.source_vocabulary - (adds_start && joint() ? 1 : 0); }
  std::int64_t target_pieces() const noexcept { return sequences.target_vocabulary - (adds_start ? 1 : 0); }
};

/// The bias of tokens that are never generated: its exponential is 0, and sums with it stay finite.
inline constexpr float kNeverWritten = -10000;

/// Returns the plan for all parameters of such a model, in no particular order.
WeightPlan plan_transformer(const TransformerShape& shape, const TransformerNames& names);

}  // namespace dragoman::imports

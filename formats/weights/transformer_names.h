#pragma once

#include "weights/weight_plan.h"

#include <cstdint>

#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/transformer/config.h>

namespace dragoman::imports {

enum class Side : std::uint8_t { kEncoder, kDecoder };

/// The name of a side in our parameters and in most others'.
inline const char* name_of(Side side) {
  return side == Side::kEncoder ? "encoder" : "decoder";
}

/// The linear layers of a Transformer's layers. A projection that stands for several is one of ours.
enum class LinearKind : std::uint8_t {
  kSelfQkv,  ///< query, key, value
  kSelfOut,  ///< of self-attention
  kCrossQ,   ///< of attention to the source
  kCrossKv,  ///< key, value
  kCrossOut,
  kInner,  ///< of the feed-forward layer; gated: the activated half, the other
  kOuter,
  kCandidate,  ///< of a recurrent unit in the place of a decoder's self-attention
  kForget,
};

/// The norms of a Transformer; those of a layer are named for the sub-layer.
enum class NormKind : std::uint8_t { kEmbedding, kSelf, kCross, kFeedForward, kFinal, kRecurrent };

/// The matrices of the vocabularies.
enum class TableKind : std::uint8_t { kSource, kTarget, kOutput };

/// What another toolkit calls the arrays of a Transformer. Of layers the numbers are those of the parameters: of tied
/// ones the first's.
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
  /// `layer` is -1 for what belongs to a whole stack.
  virtual Pair norm(Side side, int layer, NormKind kind) const = 0;
  virtual WeightPart table(TableKind kind) const = 0;
  virtual WeightPart positions(Side side) const = 0;
  virtual WeightPart output_bias() const = 0;
  virtual WeightPart output_projection() const = 0;
};

struct TransformerShape {
  transformer::Config config;
  nn::SequenceSpec sequences;
  /// The decoder's layers have a recurrent unit (the model type "ssru") in place of self-attention.
  bool recurrent = false;
  /// The file has no row for the decoder's start token, which is the last of the target's vocabulary and, where tables
  /// are shared, of the source's: it starts from zeros, and the token is never written.
  bool zero_start = false;
  /// The first row of the target's table that the file's vocabulary has no piece for; -1: none. Tokens of these rows
  /// are never written, for which config.output_bias must be set.
  std::int64_t unused_from = -1;
  /// The file gives each layer parameters of its own, tied or not.
  bool untied_layers = false;
  /// Matrices that are tied stand under each of their names.
  bool untied_tables = false;
};

/// The bias of tokens that are never written: e to that power is 0, and sums with it stay finite.
inline constexpr float kNeverWritten = -10000;

/// All parameters of such a model, in no particular order.
WeightPlan plan_transformer(const TransformerShape& shape, const TransformerNames& names);

}  // namespace dragoman::imports

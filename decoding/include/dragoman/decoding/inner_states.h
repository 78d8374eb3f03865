#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::decoding {

/// Which attention of an encoder-decoder: of source tokens to source tokens, of target tokens to the target tokens
/// before them, or of target tokens to the source.
enum class AttentionKind : std::uint8_t { kEncoder, kDecoder, kCross };

struct AttentionRequest {
  AttentionKind kind = AttentionKind::kCross;
  /// What the model offers as its alignment (Seq2SeqModel::alignment_heads) in place of layers and heads, which must be
  /// empty, and of kCross. One map comes out, whose layer and head are numbered -1. Error{kUnsupported} if the model
  /// offers none.
  bool of_model = false;
  /// From 0; negative ones count from the last. Empty: all.
  std::vector<int> layers{};
  /// From 0, of each of the layers. Empty: all.
  std::vector<int> heads{};
  /// The mean of these heads in place of each.
  bool mean = false;
  /// What goes into the softmax in place of what comes out; what causality forbids is -infinity.
  bool before_softmax = false;
  /// The decoder sees the whole target, not only what is before: for alignments, where the target is known. Its
  /// probabilities then mean nothing.
  bool full_context = false;

  bool operator==(const AttentionRequest&) const = default;
};

/// Of one sentence.
struct AttentionMaps {
  std::vector<int> layers{};  ///< their numbers, from 0; -1 for the model's alignment
  std::vector<int> heads{};   ///< the same; one entry, -1, for the mean
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::vector<float> values{};  ///< [layers][heads][queries][keys]

  float at(std::size_t layer, std::size_t head, std::int64_t query, std::int64_t key) const {
    const auto map = static_cast<std::int64_t>(layer * heads.size() + head);
    return values[static_cast<std::size_t>((map * queries + query) * keys + key)];
  }
};

struct StatesRequest {
  /// The decoder's in place of the encoder's.
  bool of_decoder = false;
  /// What the stack hands on: with a final norm, after it. Else `layers`.
  bool final_states = true;
  /// 0: the embedded tokens; i: what layer i of n hands on to the next; negative ones count from the last. Empty: all
  /// n + 1.
  std::vector<int> layers{};

  bool operator==(const StatesRequest&) const = default;
};

/// Of one sentence.
struct TokenStates {
  std::int64_t layers = 0;
  std::int64_t tokens = 0;
  std::int64_t width = 0;
  std::vector<float> values{};  ///< [layers][tokens][width]
};

/// What to bring out of a model besides its results.
struct InnerStatesRequest {
  std::optional<AttentionRequest> attention{};
  std::optional<StatesRequest> states{};

  bool empty() const { return !attention && !states; }
  bool needs_decoder() const;
  bool operator==(const InnerStatesRequest&) const = default;
};

struct InnerStates {
  AttentionMaps attention{};
  TokenStates states{};
};

/// Looks inside of any model while it reads sources and, by teacher forcing, targets. Row i of a decoder is that of its
/// input i (the start, then the tokens of the target): what predicts target token i, or behind the last token the end.
/// Sources with their closing end, targets without; a batch of no targets will do where the request does not need the
/// decoder. One result per sentence.
///
/// Layer i of an attention is the i-th of its kind that is computed, so a model that computes its heads one by one has
/// that many layers of one head; within a decoder, causal attention is the one to its own tokens.
///
/// Error{kInvalidArgument} for a layer or head that the model does not have, and where it has no attention of the kind.
/// Frees the context's step memory.
std::vector<InnerStates> inner_states(const nn::Seq2SeqModel& model, tensor::Context& context,
                                      const tensor::RaggedTokens& sources, const tensor::RaggedTokens& targets,
                                      const InnerStatesRequest& request);

}  // namespace dragoman::decoding

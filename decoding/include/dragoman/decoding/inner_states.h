#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::decoding {

/// The kinds of attention in an encoder-decoder: from source tokens to source tokens, from target tokens to preceding
/// target tokens, and from target tokens to source tokens.
enum class AttentionKind : std::uint8_t { kEncoder, kDecoder, kCross };

struct AttentionRequest {
  AttentionKind kind = AttentionKind::kCross;
  /// Whether to return the model's alignment (Seq2SeqModel::alignment_heads). `layers` and `heads` must then be empty,
  /// and the kind must be kCross. The result is one map with layer and head -1. Error{kUnsupported} if the model has no
  /// alignment.
  bool of_model = false;
  /// From 0; negative values count from the last layer. Empty: all layers.
  std::vector<int> layers{};
  /// From 0, within each layer. Empty: all heads.
  std::vector<int> heads{};
  /// Whether to return the mean of these heads instead of each head.
  bool mean = false;
  /// Whether to return the inputs of the softmax instead of its outputs. Positions that causality forbids are
  /// -infinity.
  bool before_softmax = false;
  /// Whether the decoder sees the whole target instead of the preceding tokens only. For alignments of a given target;
  /// the probabilities of the decoder are then meaningless.
  bool full_context = false;

  bool operator==(const AttentionRequest&) const = default;
};

/// The attention maps of one sentence.
struct AttentionMaps {
  std::vector<int> layers{};  ///< layer numbers, from 0; -1 for the model's alignment
  std::vector<int> heads{};   ///< head numbers, from 0; one entry, -1, for the mean
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::vector<float> values{};  ///< [layers][heads][queries][keys]

  float at(std::size_t layer, std::size_t head, std::int64_t query, std::int64_t key) const {
    const auto map = static_cast<std::int64_t>(layer * heads.size() + head);
    return values[static_cast<std::size_t>((map * queries + query) * keys + key)];
  }
};

struct StatesRequest {
  /// Whether the states are the decoder's instead of the encoder's.
  bool of_decoder = false;
  /// Whether to return the output of the stack, after the final norm if there is one. Otherwise `layers` applies.
  bool final_states = true;
  /// 0 selects the token embeddings, i the output of layer i of n; negative values count from the last. Empty: all n +
  /// 1.
  std::vector<int> layers{};

  bool operator==(const StatesRequest&) const = default;
};

/// The states of one sentence.
struct TokenStates {
  std::int64_t layers = 0;
  std::int64_t tokens = 0;
  std::int64_t width = 0;
  std::vector<float> values{};  ///< [layers][tokens][width]
};

/// The inner values of a model to return besides its results.
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

/// Computes attention maps and states while a model reads sources and, by teacher forcing, targets. Row i of a decoder
/// belongs to its input i (the start token, then the target tokens): it predicts target token i, and after the last
/// token the end. Sources include the closing end, targets exclude it. If the request does not need the decoder, the
/// targets may be empty. Returns one result per sentence.
///
/// Layer i of an attention is the i-th attention of its kind in the order of computation. A model that computes its
/// heads one by one therefore has that many layers with one head each. Within a decoder, causal attention is the
/// attention to its own tokens.
///
///     std::vector<InnerStates> last_layer(const nn::Seq2SeqModel& model, tensor::Context& context,
///                                         const tensor::RaggedTokens& sources) {
///       return inner_states(model, context, sources, {}, {.states = StatesRequest{.layers = {-1}}});
///     }
///
/// Error{kInvalidArgument} for a layer or head that the model does not have, or if it has no attention of the kind.
/// Frees the context's step memory.
std::vector<InnerStates> inner_states(const nn::Seq2SeqModel& model, tensor::Context& context,
                                      const tensor::RaggedTokens& sources, const tensor::RaggedTokens& targets,
                                      const InnerStatesRequest& request);

}  // namespace dragoman::decoding

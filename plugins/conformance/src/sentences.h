#pragma once

#include <cstdint>
#include <vector>

#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/tensor/ragged.h>

namespace dragoman::plugins {

using Tokens = std::vector<std::int32_t>;

/// A source with its end token, and the decoder input for it, starting with the start token.
struct Pair {
  Tokens source;
  Tokens target;
};

/// Sequences stored end to end.
struct Ragged {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> offsets{0};

  Ragged() = default;
  explicit Ragged(const std::vector<Tokens>& sequences);
  void append(const Tokens& sequence);
  tensor::RaggedTokens view() const { return {tokens, offsets}; }
};

Ragged sources_of(const std::vector<Pair>& pairs);
Ragged targets_of(const std::vector<Pair>& pairs);

/// The specification for every check: vocabularies of 13 (equal, so that they can be tied) and lengths up to 16.
nn::SequenceSpec example_spec();

/// Returns three pairs of different lengths with random tokens other than begin and end. The shortest source is the end
/// token alone.
std::vector<Pair> example_pairs();

/// Returns a token that may occur within a sentence; a pure function of its arguments.
std::int32_t random_token(std::uint64_t stream, std::uint64_t index);
/// Returns such a token that differs from `token`.
std::int32_t other_token(std::int32_t token);

}  // namespace dragoman::plugins

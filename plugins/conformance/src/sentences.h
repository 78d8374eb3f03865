#pragma once

#include <cstdint>
#include <vector>

#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/tensor/ragged.h>

namespace dragoman::plugins {

using Tokens = std::vector<std::int32_t>;

/// A source with its end, and what the decoder is fed for it, from the start token on.
struct Pair {
  Tokens source;
  Tokens target;
};

/// Sequences laid end to end.
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

/// What every check works with: vocabularies of 13 (equal, so that they can be tied) and lengths up to 16.
nn::SequenceSpec example_spec();

/// Three pairs of different lengths, the shortest source being the end alone. Made of random tokens that are neither
/// begin nor end.
std::vector<Pair> example_pairs();

/// A token that may stand within a sentence; a pure function of its arguments.
std::int32_t random_token(std::uint64_t stream, std::uint64_t index);
/// Another such token than `token`.
std::int32_t other_token(std::int32_t token);

}  // namespace dragoman::plugins

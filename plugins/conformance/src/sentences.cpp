#include "sentences.h"

#include <dragoman/core/random.h>

namespace dragoman::plugins {
namespace {

constexpr std::int32_t kVocabulary = 13;
constexpr std::int32_t kFirstWord = 3;
constexpr std::uint64_t kSentenceSeed = 20170612;

Tokens random_tokens(std::uint64_t stream, std::size_t count) {
  Tokens tokens;
  for (std::size_t i = 0; i < count; ++i) tokens.push_back(random_token(stream, i));
  return tokens;
}

Pair random_pair(std::uint64_t stream, std::size_t source_words, std::size_t target_words) {
  const nn::SequenceSpec spec = example_spec();
  Pair pair{random_tokens(2 * stream, source_words), random_tokens(2 * stream + 1, target_words)};
  pair.source.push_back(spec.end);
  pair.target.insert(pair.target.begin(), spec.decoder_start);
  return pair;
}

template <class Side>
Ragged join(const std::vector<Pair>& pairs, Side side) {
  Ragged joined;
  for (const Pair& pair : pairs) joined.append(pair.*side);
  return joined;
}

}  // namespace

Ragged::Ragged(const std::vector<Tokens>& sequences) {
  for (const Tokens& sequence : sequences) append(sequence);
}

void Ragged::append(const Tokens& sequence) {
  tokens.insert(tokens.end(), sequence.begin(), sequence.end());
  offsets.push_back(static_cast<std::int32_t>(tokens.size()));
}

Ragged sources_of(const std::vector<Pair>& pairs) {
  return join(pairs, &Pair::source);
}
Ragged targets_of(const std::vector<Pair>& pairs) {
  return join(pairs, &Pair::target);
}

nn::SequenceSpec example_spec() {
  nn::SequenceSpec spec;
  spec.source_vocabulary = kVocabulary;
  spec.target_vocabulary = kVocabulary;
  spec.maximum_source_length = 16;
  spec.maximum_target_length = 16;
  return spec;
}

std::vector<Pair> example_pairs() {
  return {random_pair(0, 4, 3), random_pair(1, 0, 6), random_pair(2, 2, 1)};
}

std::int32_t random_token(std::uint64_t stream, std::uint64_t index) {
  return kFirstWord +
         static_cast<std::int32_t>(core::random_below(kVocabulary - kFirstWord, kSentenceSeed, stream, index));
}

std::int32_t other_token(std::int32_t token) {
  return token + 1 < kVocabulary ? token + 1 : kFirstWord;
}

}  // namespace dragoman::plugins

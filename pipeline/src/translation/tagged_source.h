#pragma once

#include <algorithm>
#include <vector>

#include <dragoman/formats/languages.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::pipeline {

/// Returns the maximum number of tokens of a source, excluding its end and its tags.
inline std::size_t room_for_source(const nn::SequenceSpec& spec, const formats::SequenceTags& tags) {
  const auto most = static_cast<std::size_t>(spec.maximum_source_length - 1);
  return most > tags.of_source() ? most - tags.of_source() : 1;
}

/// Adds the end, if the model's sources have one, and the tags to the tokens of a source.
inline std::vector<std::int32_t> tagged_source(std::vector<std::int32_t> tokens, const nn::SequenceSpec& spec,
                                               const formats::SequenceTags& tags) {
  tokens.insert(tokens.begin(), tags.source_prefix.begin(), tags.source_prefix.end());
  if (tags.source_end) tokens.push_back(spec.end);
  tokens.insert(tokens.end(), tags.source_suffix.begin(), tags.source_suffix.end());
  return tokens;
}

}  // namespace dragoman::pipeline

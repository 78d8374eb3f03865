#pragma once

#include "dragoman/pipeline/line_policy.h"
#include "dragoman/pipeline/scorer.h"
#include "dragoman/pipeline/translate_service.h"
#include "tagged_source.h"

#include <algorithm>
#include <vector>

#include <dragoman/core/error.h>

namespace dragoman::pipeline {

struct SentenceTokens {
  std::vector<std::int32_t> source;
  std::vector<std::int32_t> target;
};

/// What becomes of tokens that are more than the model takes.
enum class LongLines : std::uint8_t { kFail, kCut };

/// The tokens of a pair, cleaned as lines are. Those that are more than the model takes are Error{kBadInput} that says
/// where, or left out.
inline engine::ScoreRequest forced_pair(const TranslationModel& model, LinePair& pair,
                                        LongLines long_lines = LongLines::kFail, const LanguagePair& languages = {}) {
  clean_line(pair.source);
  clean_line(pair.target);
  engine::ScoreRequest request;
  request.source = model.source_tokenizer->encode(pair.source);
  request.target = model.target_tokenizer->encode(pair.target);
  const nn::SequenceSpec spec = model.spec();
  const formats::SequenceTags tags = model.tags(languages);
  const std::size_t most_source = room_for_source(spec, tags);
  const std::size_t most_target = static_cast<std::size_t>(spec.maximum_target_length - 1) - tags.target_prefix.size();
  if (long_lines == LongLines::kCut) {
    request.source.resize(std::min(request.source.size(), most_source));
    request.target.resize(std::min(request.target.size(), most_target));
  }
  const auto require_room = [&](const char* side, std::size_t tokens, std::size_t most) {
    core::require(tokens <= most, core::ErrorCode::kBadInput,
                  "{}: the {} has {} tokens, and the model takes {}; split the line, or take it out", pair.where, side,
                  tokens, most);
  };
  require_room("source", request.source.size(), most_source);
  require_room("target", request.target.size(), most_target);
  request.source = tagged_source(std::move(request.source), spec, tags);
  request.target.insert(request.target.begin(), tags.target_prefix.begin(), tags.target_prefix.end());
  return request;
}

}  // namespace dragoman::pipeline

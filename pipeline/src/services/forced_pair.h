#pragma once

#include "dragoman/pipeline/line_policy.h"
#include "dragoman/pipeline/scorer.h"
#include "dragoman/pipeline/translate_service.h"
#include "translation/tagged_source.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include <dragoman/core/error.h>

namespace dragoman::pipeline {

struct SentenceTokens {
  std::vector<std::int32_t> source;
  std::vector<std::int32_t> target;
};

/// A pair as a request for forced decoding.
struct ForcedPair {
  engine::ScoreRequest request{};
  bool cut = false;
  std::string error{};  ///< with LongLines::kSkip; there is no request then
};

/// Returns the tokens of a pair, cleaned as lines are. `long_lines` decides about pairs with more tokens than the model
/// supports.
inline ForcedPair forced_pair(const ModelView& model, LinePair& pair, LongLines long_lines = LongLines::kFail,
                              const LanguagePair& languages = {}) {
  clean_line(pair.source);
  clean_line(pair.target);
  ForcedPair forced;
  engine::ScoreRequest& request = forced.request;
  request.source = model.source_tokenizer->encode(pair.source);
  request.target = model.target_tokenizer->encode(pair.target);
  const nn::SequenceSpec spec = model.spec();
  const formats::SequenceTags tags = model.tags(languages);
  const auto fit = [&](const char* side, std::vector<std::int32_t>& tokens, std::size_t most) {
    if (tokens.size() <= most || !forced.error.empty()) return;
    const std::string reason =
        fmt::format("{}: the {} has {} tokens, and the model takes {}", pair.where, side, tokens.size(), most);
    switch (long_lines) {
      case LongLines::kFail:
        core::fail(core::ErrorCode::kBadInput, "{}; split the line, or take it out (`long_lines`)", reason);
      case LongLines::kCut:
        tokens.resize(most);
        forced.cut = true;
        return;
      case LongLines::kSkip:
        forced.error = reason;
        return;
    }
  };
  fit("source", request.source, room_for_source(spec, tags));
  fit("target", request.target, static_cast<std::size_t>(spec.maximum_target_length - 1) - tags.target_prefix.size());
  if (!forced.error.empty()) return forced;
  request.source = tagged_source(std::move(request.source), spec, tags);
  request.target.insert(request.target.begin(), tags.target_prefix.begin(), tags.target_prefix.end());
  return forced;
}

}  // namespace dragoman::pipeline

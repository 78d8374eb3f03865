#pragma once

#include "dragoman/pipeline/line_policy.h"
#include "dragoman/pipeline/scorer.h"
#include "dragoman/pipeline/translate_service.h"

#include <vector>

#include <dragoman/core/error.h>

namespace dragoman::pipeline {

struct SentenceTokens {
  std::vector<std::int32_t> source;
  std::vector<std::int32_t> target;
};

/// The tokens of a pair, cleaned as lines are; Error{kBadInput} that says where, if they are more than the model takes.
inline engine::ScoreRequest forced_pair(const TranslationModel& model, LinePair& pair) {
  clean_line(pair.source);
  clean_line(pair.target);
  engine::ScoreRequest request;
  request.source = model.source_tokenizer->encode(pair.source);
  request.target = model.target_tokenizer->encode(pair.target);
  const nn::SequenceSpec& spec = model.model->spec();
  core::require(request.source.size() < static_cast<std::size_t>(spec.maximum_source_length) &&
                    request.target.size() < static_cast<std::size_t>(spec.maximum_target_length),
                core::ErrorCode::kBadInput,
                "{}: {} source and {} target tokens are more than the model takes ({} and {})", pair.where,
                request.source.size(), request.target.size(), spec.maximum_source_length - 1,
                spec.maximum_target_length - 1);
  request.source.push_back(spec.end);
  return request;
}

}  // namespace dragoman::pipeline

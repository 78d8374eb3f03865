#pragma once

#include "target.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <dragoman/core/json.h>
#include <dragoman/formats/model_reference.h>

namespace dragoman::fuzz {

/// Reads a reference.json of a model of some pieces. True if it was one.
inline bool exercise_model_reference(std::string_view bytes) {
  const nn::SequenceSpec spec{
      .source_vocabulary = 320, .target_vocabulary = 320, .maximum_source_length = 64, .maximum_target_length = 64};
  return accepts([&] {
    const formats::ModelReference reference =
        formats::read_model_reference(core::parse_json(bytes, "fuzz"), spec, "fuzz");
    const std::string text = formats::to_text(reference);
    const auto again = formats::read_model_reference(core::parse_json(text, "written again"), spec, "written again");
    promise(formats::to_text(again) == text, "a reference that is written and read is the same");
    for (const formats::ReferenceSentence& sentence : reference.sentences)
      promise(sentence.log_probabilities.size() == sentence.target.size() + 1, "every token has a log probability");
  });
}

inline std::string many_sentences(std::string_view seed, std::size_t size) {
  core::Json json = core::Json::parse(seed);
  const core::Json sentence = json["sentences"][0];
  constexpr std::size_t kMaxCount = 4000;  // a reference has at most 4,096
  const std::size_t count = std::min(size / sentence.dump().size(), kMaxCount);
  for (std::size_t i = 0; i < count; ++i) json["sentences"].push_back(sentence);
  return json.dump();
}

inline Target model_reference_target() {
  return {
      .name = "model_reference",
      .exercise = exercise_model_reference,
      .growths = {{"many sentences", "two_sentences", many_sentences}},
  };
}

}  // namespace dragoman::fuzz

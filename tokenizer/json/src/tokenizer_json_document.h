#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace dragoman::tokenizer {

/// A `tokenizer.json` as parsed, with its two long parts taken out of the tree: one node and one allocation for each of
/// 30,000 pieces and merges would take most of the time of loading.
///
/// In `rest`, the object or list model.vocab and the list model.merges are empty. If one of them is something else, it
/// is left there for the reader to complain about.
struct TokenizerDocument {
  nlohmann::json rest;
  std::vector<std::pair<std::string_view, std::int32_t>> vocabulary;
  std::vector<std::pair<std::string_view, std::string_view>> merges;
  std::vector<std::pair<std::string_view, double>> scored;  ///< where the vocabulary is a list of pieces with scores
  std::shared_ptr<const void> texts;                        ///< what the views point into
};

/// Throws Error{kBadInput} that begins with `name`: for what is no JSON, for ids that are no whole numbers, for merges
/// that are not two pieces, and for what is nested too deeply.
TokenizerDocument parse_tokenizer_document(std::string_view json, const std::string& name);

}  // namespace dragoman::tokenizer

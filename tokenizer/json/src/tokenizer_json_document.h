#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace dragoman::tokenizer {

/// A parsed `tokenizer.json` whose two long parts are stored outside the tree. One node and one allocation for each of
/// 30,000 pieces and merges would take most of the loading time.
///
/// In `rest`, the object or list model.vocab and the list model.merges are empty. If one of them has another type, it
/// stays there, and the reader reports the error.
struct TokenizerDocument {
  nlohmann::json rest;
  std::vector<std::pair<std::string_view, std::int32_t>> vocabulary;
  std::vector<std::pair<std::string_view, std::string_view>> merges;
  std::vector<std::pair<std::string_view, double>> scored;  ///< if the vocabulary is a list of pieces with scores
  std::shared_ptr<const void> texts;                        ///< the memory to which the views refer
};

/// Throws Error{kBadInput} that begins with `name` for invalid JSON, ids that are not whole numbers, merges that are
/// not two pieces, and too many nesting levels.
TokenizerDocument parse_tokenizer_document(std::string_view json, const std::string& name);

}  // namespace dragoman::tokenizer

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/hash_tables.h>

namespace dragoman::tokenizer {

/// A list of pieces with ids. Toolkits keep it in addition to a tokenizer that only segments text.
struct Dictionary {
  std::vector<std::string> pieces;  ///< by id
  std::vector<bool> special;        ///< by id
  std::int32_t unknown = -1;
  core::TextMap<std::int32_t> ids;

  /// Returns the id of a piece, or of the unknown piece.
  std::int32_t find(const std::string& piece) const {
    const auto found = ids.find(piece);
    return found == ids.end() ? unknown : found->second;
  }
};

/// Parses fairseq's dict.txt, which has a piece and its count on each line. These follow `<s>`, `<pad>`, `</s>` and
/// `<unk>`, which have the ids 0 to 3. Every message begins with `name`. Throws Error{kBadInput} that names the line.
Dictionary parse_fairseq_dictionary(std::string_view text, const std::string& name);

/// Parses Marian's vocab.yml: a YAML mapping of pieces to ids, or the same as JSON. Throws like
/// parse_fairseq_dictionary() and core::parse_yaml().
Dictionary parse_marian_dictionary(std::string_view text, const std::string& name);

}  // namespace dragoman::tokenizer

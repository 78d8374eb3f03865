#pragma once

#include "decoding/suffix_set.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Converts ids to text. The text of each piece is computed once.
class BpeDecoder {
 public:
  /// BpeModel must have validated `definition`. Throws Error{kBadInput} if replacements make a piece many times longer.
  explicit BpeDecoder(const BpeDefinition& definition);
  /// Returns whether the constructor may throw that error: there is a replacement that is longer than its pattern.
  static bool may_refuse(const BpeDefinition& definition);
  /// Ids must be in range.
  std::string decode(std::span<const std::int32_t> ids) const;

  /// The following functions expose the parts of decode(), for decoding in steps. decode() does this, in order:
  ///
  /// 1. Concatenate the surfaces of the ids.
  /// 2. Remove the final space if the last piece ends a word.
  /// 3. Reverse escapes().
  /// 4. Remove a space after each of the symbols().
  /// 5. Remove strip() from the start, up to strip_count() times.
  std::string_view surface(std::int32_t id) const { return surfaces_[static_cast<std::size_t>(id)]; }
  /// Returns whether the first id that is not a special token has a different surface, first_surface().
  bool has_first_surfaces() const { return !first_surfaces_.empty(); }
  std::string_view first_surface(std::int32_t id) const { return first_surfaces_[static_cast<std::size_t>(id)]; }
  /// Returns the surface of a token without a piece. `first` means that only special tokens precede it.
  std::string surface_of_text(std::string_view piece, bool first) const;
  bool is_special(std::int32_t id) const { return special_[static_cast<std::size_t>(id)]; }
  bool ends_word(std::int32_t id) const { return ends_word_[static_cast<std::size_t>(id)]; }
  const std::vector<Replacement>& escapes() const { return escapes_; }
  const SuffixSet& symbols() const { return symbols_; }
  const std::string& strip() const { return strip_; }
  std::size_t strip_count() const { return strip_count_; }

 private:
  bool ends_with_a_word(std::span<const std::int32_t> ids) const;
  std::string drop_space_after_symbols(const std::string& text) const;

  std::vector<std::string> surfaces_;        // by id; empty for special tokens
  std::vector<std::string> first_surfaces_;  // by id, or empty
  std::vector<bool> special_;                // by id
  std::vector<bool> ends_word_;              // by id: the surface ends with a space, which the last piece loses
  std::vector<Replacement> replacements_;
  std::vector<Replacement> escapes_;
  SuffixSet symbols_;  // empty unless the space after them is dropped
  std::string strip_;
  std::size_t strip_count_ = 0;
};

}  // namespace dragoman::tokenizer

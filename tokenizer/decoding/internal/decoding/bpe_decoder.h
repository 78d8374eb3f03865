#pragma once

#include "decoding/suffix_set.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Ids to text. What each piece looks like in the text is worked out once.
class BpeDecoder {
 public:
  /// `definition` has been checked by BpeModel. Throws Error{kBadInput} if replacements make a piece many times longer.
  explicit BpeDecoder(const BpeDefinition& definition);
  /// Whether it may throw that: there is a replacement that is longer than what it replaces.
  static bool may_refuse(const BpeDefinition& definition);
  /// Ids must be in range.
  std::string decode(std::span<const std::int32_t> ids) const;

  /// What decode() does, in its order, for whoever does it bit by bit: the texts of the ids are joined; the space at
  /// the end of a piece that ends a word goes if nothing follows; escapes() are undone; a space goes that stands behind
  /// one of the symbols; so do up to strip_count() times strip() at the start.
  std::string_view surface(std::int32_t id) const { return surfaces_[static_cast<std::size_t>(id)]; }
  /// Whether the first id that is no special token has another surface, and which.
  bool has_first_surfaces() const { return !first_surfaces_.empty(); }
  std::string_view first_surface(std::int32_t id) const { return first_surfaces_[static_cast<std::size_t>(id)]; }
  /// The surface of a token that has no piece; `first`: no other but special tokens come before it.
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
  std::vector<bool> ends_word_;              // by id: a space stands at the end of the surface, unless it is the last
  std::vector<Replacement> replacements_;
  std::vector<Replacement> escapes_;
  SuffixSet symbols_;  // empty unless the space after them is dropped
  std::string strip_;
  std::size_t strip_count_ = 0;
};

}  // namespace dragoman::tokenizer

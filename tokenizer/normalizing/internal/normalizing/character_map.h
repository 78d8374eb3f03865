#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// The character map of a SentencePiece model (`precompiled_charsmap`): rules that replace one text by another.
///
/// The serialised map consists of the size of a double array (Aoe 1989, in the layout of Darts-clone), the array, and
/// the replacements, each terminated by NUL. Every index in it is checked once, so that look-ups need no checks.
class CharacterMap {
 public:
  struct Match {
    std::string_view replacement;  ///< may be empty; lives as long as the map
    std::size_t length = 0;        ///< of the replaced text; 0 if no rule applies
  };

  /// Every message begins with `name`. Throws Error{kBadInput} for bytes that are not such a map.
  CharacterMap(std::string_view bytes, const std::string& name);

  /// Returns the longest rule whose source is a prefix of `text`.
  Match longest_prefix(std::string_view text) const noexcept;
  /// Returns the shortest such rule.
  Match shortest_prefix(std::string_view text) const noexcept;
  /// Returns whether a rule for several bytes contains this byte.
  bool has_rule_over(char byte) const;

 private:
  template <class Visit>
  void for_each_rule(std::string_view text, Visit&& visit) const noexcept;
  void check_units(const std::string& name) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace dragoman::tokenizer

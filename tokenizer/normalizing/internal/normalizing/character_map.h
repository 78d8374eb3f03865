#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// The character map of a SentencePiece model (`precompiled_charsmap`): rules that replace one text by another.
///
/// Its bytes are the size of a double array (Aoe 1989, in the layout of Darts-clone), the array, and the replacements,
/// each ended by NUL. Every index in it is checked once, so that looking up needs no checks.
class CharacterMap {
 public:
  struct Match {
    std::string_view replacement;  ///< may be empty; lives as long as the map
    std::size_t length = 0;        ///< of the text that is replaced; 0: no rule applies
  };

  /// `name` begins every message. Throws Error{kBadInput} for bytes that are not such a map.
  CharacterMap(std::string_view bytes, const std::string& name);

  /// The longest rule for what `text` begins with.
  Match longest_prefix(std::string_view text) const noexcept;
  /// The shortest one.
  Match shortest_prefix(std::string_view text) const noexcept;
  /// Whether a rule for several bytes has this one among them.
  bool has_rule_over(char byte) const;

 private:
  template <class Visit>
  void for_each_rule(std::string_view text, Visit&& visit) const noexcept;
  void check_units(const std::string& name) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace dragoman::tokenizer

#pragma once

#include "normalizing/character_map.h"
#include "normalizing/character_rules.h"
#include "target.h"

#include <string>
#include <string_view>

#include <dragoman/core/utf8.h>

namespace dragoman::fuzz {

/// A file of rules, and the map that is built of them: every rule is found in it.
inline bool exercise_character_rules(std::string_view bytes) {
  using namespace tokenizer;
  return accepts([&] {
    const auto utf8 = [](std::u32string_view text) {
      std::string out;
      for (const char32_t c : text) core::append_utf8(out, c);
      return out;
    };
    const CharacterRules rules = parse_character_rules(bytes, "rules");
    const CharacterMap map(build_character_map(rules), "map");
    for (const auto& [source, target] : rules) {
      const CharacterMap::Match match = map.longest_prefix(utf8(source));
      promise(match.length == utf8(source).size(), "a rule applies to its source");
      promise(match.replacement == utf8(target), "a source becomes what its rule says");
    }
  });
}

/// A byte of a rule may be one of a source, which has four nodes of the table at most and each a block of its own in
/// the worst case.
inline Target character_rules_target() {
  return {.name = "character_rules",
          .exercise = exercise_character_rules,
          .budget = {.microseconds_per_byte = 40, .bytes_per_byte = 4096}};
}

}  // namespace dragoman::fuzz

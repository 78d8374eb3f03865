#pragma once

#include <map>
#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// Replacements by source, as code points. A source is not empty. If several sources match, the longest one applies.
using CharacterRules = std::map<std::u32string, std::u32string>;

/// Returns SentencePiece's rules with the given name: "nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"; none for
/// "identity". They are of Unicode 17 if the version of the linked tables is 15 or later. Throws
/// Error{kInvalidArgument} for another name.
CharacterRules named_character_rules(std::string_view name);

/// Parses rules in the format of spm_train's --normalization_rule_tsv. Each line has the code points of the source, a
/// tab, and the code points of the replacement, in hexadecimal and separated by spaces. Without a second column the
/// source is removed. Further columns and empty lines are ignored. Throws Error{kBadInput} with `name` and the line.
CharacterRules parse_character_rules(std::string_view tsv, const std::string& name);

/// Returns the rules as a serialised CharacterMap, empty if there are none. Throws Error{kUnsupported} if there are too
/// many.
std::string build_character_map(const CharacterRules& rules);

}  // namespace dragoman::tokenizer

#pragma once

#include <map>
#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// What replaces what, as code points; a source is not empty. Where several sources match, the longest one does.
using CharacterRules = std::map<std::u32string, std::u32string>;

/// The rules that SentencePiece knows by a name: "nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"; none for "identity".
/// They are of Unicode 17, whatever the version of the tables that the program is linked with, if that is 15 or later.
/// Throws Error{kInvalidArgument} for another name.
CharacterRules named_character_rules(std::string_view name);

/// Rules in the form of spm_train's --normalization_rule_tsv: on each line the code points of the source and, behind a
/// tab, those of what replaces it, in hexadecimal with spaces in between; without a second column the source vanishes.
/// Further columns, and empty lines, are passed over. Throws Error{kBadInput}, naming `name` and the line.
CharacterRules parse_character_rules(std::string_view tsv, const std::string& name);

/// The rules as a CharacterMap reads them; empty for none. Throws Error{kUnsupported} if they are too many for one.
std::string build_character_map(const CharacterRules& rules);

}  // namespace dragoman::tokenizer

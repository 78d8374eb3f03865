#pragma once

#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// The character map (SentencePieceNormalization::character_map) that SentencePiece knows by a name: "nmt_nfkc",
/// "nfkc", "nmt_nfkc_cf", "nfkc_cf", or "identity", which is empty. Texts become what they become there. It takes some
/// tenths of a second. Throws Error{kInvalidArgument} for another name.
std::string make_character_map(std::string_view name);

/// The map of rules in the form of spm_train's --normalization_rule_tsv: on each line the code points of the source
/// and, behind a tab, those of what replaces it, in hexadecimal with spaces in between; without a second column the
/// source vanishes. Further columns, and empty lines, are passed over. Throws Error{kBadInput}, naming `name` and the
/// line, and Error{kUnsupported} for more rules than a map can hold.
std::string make_character_map_of_rules(std::string_view tsv, const std::string& name);

}  // namespace dragoman::tokenizer

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Returns SentencePiece's character map (SentencePieceNormalization::character_map) with the given name: "nmt_nfkc",
/// "nfkc", "nmt_nfkc_cf", "nfkc_cf", or "identity", which is empty. It normalises texts as SentencePiece does. Takes
/// some tenths of a second. Throws Error{kInvalidArgument} for another name. Thread-safe.
///
///     const LearnUnigramOptions options{     // learn_unigram_options.h
///         .normalization = {.name = "nmt_nfkc", .character_map = make_character_map("nmt_nfkc")}};
std::string make_character_map(std::string_view name);

/// Returns the names that make_character_map() accepts.
std::vector<std::string_view> character_map_names();

/// Sets a character map that has a name but no content to the map of that name. Throws like make_character_map().
void complete_character_map(SentencePieceNormalization& normalization);

/// Returns the character map for rules in the format of spm_train's --normalization_rule_tsv. Each line has the code
/// points of the source, a tab, and the code points of the replacement, in hexadecimal and separated by spaces. Without
/// a second column the source is removed. Further columns and empty lines are ignored. Throws Error{kBadInput} with
/// `name` and the line, and Error{kUnsupported} for more rules than a map can store.
std::string make_character_map_of_rules(std::string_view tsv, const std::string& name);

}  // namespace dragoman::tokenizer

#pragma once

#include "counting/character_counts.h"
#include "counting/word_table.h"
#include "reading/thread_arena.h"
#include "reproducing/symbol_names.h"
#include "reproducing/symbol_words.h"

#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Words as subword-nmt reads them, with `</w>` in the last symbol. `words` are what stands between spaces and line
/// ends; it also ends lines at a lone CR, which vanishes, and behind what str.splitlines() knows else, which stays.
/// Throws Error{kBadInput} for words that are not UTF-8, where it stops, too.
SymbolWords subword_nmt_words(const WordCounts& words, SymbolNames& names);

/// The words that the text pre_tokenizer of `definition` makes of words (or lines).
WordCounts split_words(const WordCounts& words, const BpeDefinition& definition, ThreadArena& arena);

/// The characters of words as `tokenizers` sees them: with `byte_level` those that stand for the bytes. By falling
/// count, then by code point. Throws Error{kBadInput} for words that are not UTF-8, which it does not take.
std::vector<CharacterCount> count_characters(const WordCounts& words, bool byte_level);

/// The words as symbols. What is in `alphabet` becomes its character, with `suffix` behind the last of a word, and the
/// rest vanishes. Names new symbols by code point, those with a suffix after all others.
SymbolWords lay_out_words(const WordCounts& words, bool byte_level, const std::vector<char32_t>& alphabet,
                          std::string_view suffix, SymbolNames& names);

}  // namespace dragoman::tokenizer

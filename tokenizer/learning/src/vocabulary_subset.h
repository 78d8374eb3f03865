#pragma once

#include "dragoman/tokenizer/vocabulary_editing.h"

#include <vector>

namespace dragoman::tokenizer {

/// Throws Error{kUnsupported} for a definition of which no part can be left out or added without changing the rest.
void check_editable(const BpeDefinition& definition);
/// Makes the vocabulary list its added tokens, as it must if pieces are to come behind them. (But not a special token
/// of one character, which would then stand for that character.)
void list_added_tokens(BpeDefinition& definition);

/// By id: whether no merge makes the piece.
std::vector<bool> unmerged_pieces(const BpeDefinition& definition);

/// The definition with only the pieces that `kept` says, by old id, and with those of its merges whose three pieces all
/// stay.
VocabularyEdit subset(BpeDefinition definition, const std::vector<bool>& kept);

}  // namespace dragoman::tokenizer

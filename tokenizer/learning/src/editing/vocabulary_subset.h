#pragma once

#include "dragoman/tokenizer/vocabulary_editing.h"

#include <vector>

namespace dragoman::tokenizer {

/// Throws Error{kUnsupported} if no part of the definition can be removed or added without changing the rest.
void check_editable(const BpeDefinition& definition);
/// Makes the vocabulary list its added tokens, which is necessary if pieces are to follow them. Special tokens of one
/// character are excluded, since they would then stand for that character.
void list_added_tokens(BpeDefinition& definition);

/// Returns for each id whether no merge produces the piece.
std::vector<bool> unmerged_pieces(const BpeDefinition& definition);

/// Returns the definition with the pieces for which `kept` is true, by old id, and with the merges whose three pieces
/// are all kept.
VocabularyEdit subset(BpeDefinition definition, const std::vector<bool>& kept);

}  // namespace dragoman::tokenizer

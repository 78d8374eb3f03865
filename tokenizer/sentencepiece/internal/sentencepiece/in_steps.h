#pragma once

#include <string>
#include <string_view>

#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

/// Conversions of SentencePiece's text processing to a sequence of steps, as in a tokenizer.json.
namespace dragoman::tokenizer {

/// Returns the steps of a normalisation with escaped spaces and without suffixes. A character map becomes a step that
/// applies to clusters of characters.
NormalizerSteps normalizer_steps(const SentencePieceNormalization& normalization);
CharacterText text_in_steps(const SentencePieceText& text);

/// Returns the definition with its text in steps if at most a character map prevents this, else unchanged.
BpeDefinition in_steps(BpeDefinition definition);

/// Returns whether in_steps() or write_unigram_as_json() changes the normalisation of texts: the `tokenizers` library
/// looks whole clusters of characters up in a character map, and drops the characters that its rule does not contain.
bool maps_clusters(const BpeDefinition& definition);
bool maps_clusters(const UnigramDefinition& definition);

/// Returns a tokenizer.json of the type Unigram. Throws Error{kUnsupported} for a model that it cannot represent.
std::string write_unigram_as_json(const UnigramDefinition& definition);

}  // namespace dragoman::tokenizer

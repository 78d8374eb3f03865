#pragma once

#include <string>
#include <string_view>

#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

/// SentencePiece's text as steps that follow one another, which is what a tokenizer.json has.
namespace dragoman::tokenizer {

/// The steps of a normalisation with escaped spaces and without suffixes. The character map, if there is one, is a step
/// that applies to clusters of characters.
NormalizerSteps normalizer_steps(const SentencePieceNormalization& normalization);
CharacterText text_in_steps(const SentencePieceText& text);

/// The definition with its text in steps if nothing but a character map keeps it from that, else as it is.
BpeDefinition in_steps(BpeDefinition definition);

/// Whether in_steps() or write_unigram_as_json() changes how texts are normalised: the library tokenizers looks whole
/// clusters of characters up in a character map, and drops what its rule does not hold.
bool maps_clusters(const BpeDefinition& definition);
bool maps_clusters(const UnigramDefinition& definition);

/// A tokenizer.json of the type Unigram. Throws Error{kUnsupported} for a model that has no such form.
std::string write_unigram_as_json(const UnigramDefinition& definition);

}  // namespace dragoman::tokenizer

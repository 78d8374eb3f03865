#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <dragoman/core/hash_tables.h>
#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {

/// The pieces that texts may become, as for `spm_encode --vocabulary`. Other pieces are unused, except single
/// characters, user-defined symbols and special pieces.
using VocabularyOfTexts = core::TextSet;

/// Reads a SentencePiece `.model` of type BPE. Ids are positions in the file. Every message begins with `name`. Throws
/// Error{kBadInput} for a damaged file, and Error{kUnsupported} with the reason for one whose ids cannot be reproduced
/// exactly.
BpeDefinition read_sentencepiece(std::string_view model, const std::string& name,
                                 const VocabularyOfTexts* vocabulary = nullptr);

/// Returns the tokenizer of a SentencePiece `.model` of type BPE or unigram. If only the first `listed` pieces are
/// listed, the others become the unknown piece, and unknown characters may become a piece by their text (unigram only).
/// Throws like read_sentencepiece(), and Error{kInvalidArgument} if `listed` is not valid for the model.
std::unique_ptr<Tokenizer> open_sentencepiece(std::string_view model, const std::string& name,
                                              std::optional<std::int32_t> listed = std::nullopt,
                                              const VocabularyOfTexts* vocabulary = nullptr);

/// Reads a `.model` of type unigram. Returns nullopt for another type. Throws like read_sentencepiece().
std::optional<UnigramDefinition> read_sentencepiece_unigram(std::string_view model, const std::string& name,
                                                            const VocabularyOfTexts* vocabulary = nullptr);

/// Returns the serialised model. If only the word mark is escaped, the escape is dropped. Throws Error{kUnsupported}.
std::string write_sentencepiece(const BpeDefinition& definition);

/// Returns a serialised model of type unigram. Throws Error{kUnsupported}.
std::string write_sentencepiece_unigram(const UnigramDefinition& definition);

}  // namespace dragoman::tokenizer

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include <dragoman/core/hash.h>
#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {

/// The pieces that texts may become, as `spm_encode --vocabulary` has them: others are unused pieces, but for single
/// characters, user-defined symbols and special pieces.
using VocabularyOfTexts = std::unordered_set<std::string, core::TextHash, std::equal_to<>>;

/// Reads a SentencePiece `.model` of type BPE. Ids are places in the file. `name`
/// begins every message. Throws Error{kBadInput} for a damaged file and Error{kUnsupported}, with the reason, for one
/// whose ids we could not give exactly.
BpeDefinition read_sentencepiece(std::string_view model, const std::string& name,
                                 const VocabularyOfTexts* vocabulary = nullptr);

/// The tokenizer of a SentencePiece `.model` of type BPE or unigram. If only so many of its pieces are `listed`, the
/// others are the unknown piece, and unknown characters may be a piece by their text (unigram only). Throws as
/// read_sentencepiece() does, and Error{kInvalidArgument} for a number that the model has not.
std::unique_ptr<Tokenizer> open_sentencepiece(std::string_view model, const std::string& name,
                                              std::optional<std::int32_t> listed = std::nullopt,
                                              const VocabularyOfTexts* vocabulary = nullptr);

/// The model of a `.model` of type unigram; null for another type. Throws as read_sentencepiece() does.
std::optional<UnigramDefinition> read_sentencepiece_unigram(std::string_view model, const std::string& name,
                                                            const VocabularyOfTexts* vocabulary = nullptr);

/// What escapes only the word mark is written without that. Throws Error{kUnsupported}.
std::string write_sentencepiece(const BpeDefinition& definition);

/// A model of type unigram. Throws Error{kUnsupported}.
std::string write_sentencepiece_unigram(const UnigramDefinition& definition);

}  // namespace dragoman::tokenizer

#pragma once

#include "sentencepiece/sentencepiece_files.h"
#include "sentencepiece/sentencepiece_model.h"

#include <string>

#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {

inline bool is_one_character(std::string_view text) {
  return !text.empty() && core::decode_utf8(text, 0).length == text.size();
}

/// Returns the model of a file, restricted to a vocabulary if there is one. Checks the byte pieces like the library.
/// Throws Error{kBadInput}.
SentencePieceModel parse_restricted_model(std::string_view bytes, const std::string& name,
                                          const VocabularyOfTexts* vocabulary);

/// Reads a SentencePiece model of type unigram. Throws Error{kBadInput, kUnsupported} that begins with `name`.
UnigramDefinition read_unigram(const SentencePieceModel& model, const std::string& name);

}  // namespace dragoman::tokenizer

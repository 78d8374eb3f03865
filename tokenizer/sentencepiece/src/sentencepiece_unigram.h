#pragma once

#include "sentencepiece/sentencepiece_model.h"

#include <string>

#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {

/// What a SentencePiece model of type unigram says. Throws Error{kBadInput, kUnsupported}, beginning with `name`.
UnigramDefinition read_unigram(const SentencePieceModel& model, const std::string& name);

}  // namespace dragoman::tokenizer

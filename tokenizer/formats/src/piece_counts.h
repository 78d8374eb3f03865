#pragma once

#include "sentencepiece/sentencepiece_files.h"

#include <optional>

#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {

/// The vocabulary of `spm_encode --vocabulary` with its threshold: a piece, a tab and its count on each line. Nothing:
/// there is none.
std::optional<VocabularyOfTexts> read_piece_counts(const ReadOptions& options);

}  // namespace dragoman::tokenizer

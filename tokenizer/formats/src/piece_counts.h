#pragma once

#include "sentencepiece/sentencepiece_files.h"

#include <optional>

#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {

/// Returns the vocabulary of `spm_encode --vocabulary` with its threshold, or nullopt if there is none. Each line has a
/// piece, a tab and its count.
std::optional<VocabularyOfTexts> read_piece_counts(const ReadOptions& options);

}  // namespace dragoman::tokenizer

#pragma once

#include "counting/collect_words.h"
#include "dragoman/tokenizer/learn_bpe.h"

#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::tokenizer {

/// learn_bpe() and learn_bpe_from_counts() where LearnOptions::reproduce says whose learner to follow. Throws
/// Error{kInvalidArgument} for an option that means nothing to it.
BpeTokenizer learn_reproduced(const WordSource& source, const LearnOptions& options, const core::ProgressSink& progress,
                              const core::LogSink& log, const std::stop_token& stop);

}  // namespace dragoman::tokenizer

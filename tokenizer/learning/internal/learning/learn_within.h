#pragma once

#include "dragoman/tokenizer/learn_bpe.h"
#include "reading/collect_words.h"
#include "reading/memory_plan.h"

#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::tokenizer {

/// learn_bpe() and learn_bpe_from_counts() with a given plan for memory. The threads and memory in `options` are
/// ignored.
BpeTokenizer learn_within(const MemoryPlan& plan, const WordSource& source, const LearnOptions& options,
                          const core::ProgressSink& progress, const core::LogSink& log, const std::stop_token& stop);

}  // namespace dragoman::tokenizer

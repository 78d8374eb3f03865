#pragma once

#include "report.h"

#include <string>

#include <dragoman/tokenizer/corpus_statistics.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::cli {

/// Describes a tokenizer. The label of the first row is `label`.
Report describe_tokenizer(const tokenizer::Tokenizer& tokenizer, const std::string& label);

/// Describes the tokenisation of a corpus. Special tokens and byte pieces do not count as unused.
Report describe_corpus(const tokenizer::Tokenizer& tokenizer, const tokenizer::CorpusStatistics& statistics);

}  // namespace dragoman::cli

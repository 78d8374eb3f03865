#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <dragoman/core/json_fwd.h>
#include <dragoman/tokenizer/corpus_statistics.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::cli {

/// The name of the kind of file, by its content.
std::string kind_of_tokenizer(const std::filesystem::path& path);

/// What a tokenizer is: rows of text, or an object.
void print_tokenizer(const tokenizer::Tokenizer& tokenizer, std::string_view label);
core::Json describe_tokenizer(const tokenizer::Tokenizer& tokenizer, const std::string& kind);

/// What it makes of a corpus. Special tokens and byte pieces do not count as unused.
void print_corpus_report(const tokenizer::Tokenizer& tokenizer, const tokenizer::CorpusStatistics& statistics);
core::Json corpus_report(const tokenizer::Tokenizer& tokenizer, const tokenizer::CorpusStatistics& statistics);

}  // namespace dragoman::cli

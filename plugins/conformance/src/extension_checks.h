#pragma once

#include <dragoman/plugins/conformance.h>

namespace dragoman::plugins {

/// Creates the strategy without its own options, and translates a few sentences with a small random Transformer on the
/// reference backend.
std::vector<Verdict> check_search_strategy(const Host& host, const SearchStrategyEntry& entry);
/// Like check_search_strategy(), with greedy search.
std::vector<Verdict> check_logits_processor(const Host& host, const LogitsProcessorEntry& entry);
/// Creates the stage without options, and processes a few texts on several threads. Skips a stage that requires
/// options.
Verdict check_stage(const StageEntry& entry);

/// Creates the tokenizer from its example file.
std::vector<Verdict> check_tokenizer(const TokenizerEntry& entry);

/// Imports the example of the importer.
std::vector<Verdict> check_model_importer(Host& host, const ModelImporterEntry& entry,
                                          const std::filesystem::path& scratch);

}  // namespace dragoman::plugins

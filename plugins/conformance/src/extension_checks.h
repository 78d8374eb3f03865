#pragma once

#include <dragoman/plugins/conformance.h>

namespace dragoman::plugins {

/// The entry is made without options of its own and translates a few sentences with a small random Transformer on the
/// reference backend.
std::vector<Verdict> check_search_strategy(const Host& host, const SearchStrategyEntry& entry);
/// The same with greedy search.
std::vector<Verdict> check_logits_processor(const Host& host, const LogitsProcessorEntry& entry);
/// The entry is made without options, or passed over if it has to have some, and processes a few texts on several
/// threads.
Verdict check_stage(const StageEntry& entry);

/// The entry is made of its example file.
std::vector<Verdict> check_tokenizer(const TokenizerEntry& entry);

/// The entry imports its example.
std::vector<Verdict> check_model_importer(Host& host, const ModelImporterEntry& entry,
                                          const std::filesystem::path& scratch);

}  // namespace dragoman::plugins

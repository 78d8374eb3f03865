#pragma once

#include <dragoman/core/options.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

// The keys of `data` that select the texts and their mix.

/// Reads `parent[key]`: {source: FILE, target: FILE, weights: [X, ...]}, {tsv: FILE, ...}, {jsonl: FILE, ...}, or a
/// list of such texts, each with its own settings. Weights and alignments are for training.
ParallelCorpusConfig read_texts(core::OptionReader& parent, std::string_view key, bool training);
core::Json to_json(const ParallelCorpusConfig& pair);
/// Returns the settings of the texts that affect results, besides their content; null if there are none.
core::Json use_of_texts(const ParallelCorpusConfig& pair);

std::vector<PhaseConfig> read_phases(core::OptionReader& data, std::size_t texts);
core::Json to_json(const std::vector<PhaseConfig>& phases);

SubwordSampling read_subword_sampling(core::OptionReader& data);
core::Json to_json(const SubwordSampling& sampling);

/// Error{kBadInput}, with `where`, for settings that exclude each other.
void check_texts(const DataConfig& data, const std::string& where);

/// Returns the phase of an epoch or an update, counted from 0: the first phase whose end has not been reached.
std::size_t phase_of(const std::vector<PhaseConfig>& phases, std::int64_t epoch, std::int64_t update);

}  // namespace dragoman::training

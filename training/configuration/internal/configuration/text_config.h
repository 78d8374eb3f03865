#pragma once

#include <dragoman/core/options.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

// The keys of `data` that say which texts are read and how they are mixed.

/// `parent[key]`: {source: FILE, target: FILE, weights: [X, ...]}, {tsv: FILE, ...}, {jsonl: FILE, ...}, or a list of
/// such texts, each with what is to be said of it. Weights and alignments are for training.
ParallelCorpusConfig read_texts(core::OptionReader& parent, std::string_view key, bool training);
core::Json to_json(const ParallelCorpusConfig& pair);
/// What of the texts affects results beside their content; null if nothing does.
core::Json use_of_texts(const ParallelCorpusConfig& pair);

std::vector<PhaseConfig> read_phases(core::OptionReader& data, std::size_t texts);
core::Json to_json(const std::vector<PhaseConfig>& phases);

SubwordSampling read_subword_sampling(core::OptionReader& data);
core::Json to_json(const SubwordSampling& sampling);

/// Error{kBadInput}, with `where`, for what cannot be together.
void check_texts(const DataConfig& data, const std::string& where);

/// The phase that an epoch or an update belongs to, by their numbers from 0: the first whose end is not reached.
std::size_t phase_of(const std::vector<PhaseConfig>& phases, std::int64_t epoch, std::int64_t update);

}  // namespace dragoman::training

#pragma once

#include <filesystem>

#include <dragoman/training/corpus.h>

namespace dragoman::training {

/// The `format_version` of data.json.
inline constexpr int kDataAccountVersion = 1;

/// Writes data.json of a run to `path`: the number of pairs of each length, so that a report can show it after the data
/// is gone.
///
///     {"format_version": 1, "train": {"pairs": N, "source": [[length, pairs], ...], "target": [...]},
///      "validation": {...}}
///
/// Lengths are in tokens with the end, ascending. `validation` may be nullptr.
void write_data_account(const std::filesystem::path& path, const Corpus& train, const Corpus* validation);

}  // namespace dragoman::training

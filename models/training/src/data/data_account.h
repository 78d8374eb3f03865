#pragma once

#include "run/run_parts.h"

namespace dragoman::training {

/// Writes data.json of the run: how many pairs there are of each length, so that a report can show it when the data are
/// gone.
///
///     {"format_version": 1, "train": {"pairs": N, "source": [[length, pairs], ...], "target": [...]},
///      "validation": {...}}
///
/// Lengths are in tokens with the end, ascending.
void write_data_account(const RunParts& run);

}  // namespace dragoman::training

#pragma once

#include "report.h"

#include <dragoman/pipeline/compute_comparison.h>

namespace dragoman::cli {

/// Returns a table with a row per layer and a column per number type.
Report describe_compute_comparison(const pipeline::ComputeComparison& comparison);

}  // namespace dragoman::cli

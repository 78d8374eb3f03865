#pragma once

#include "report.h"

#include <dragoman/pipeline/compute_comparison.h>

namespace dragoman::cli {

/// A row for each layer, a column for each number type.
Report describe_compute_comparison(const pipeline::ComputeComparison& comparison);

}  // namespace dragoman::cli

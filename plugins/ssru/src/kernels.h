#pragma once

#include "ssru_scan.h"

#include <dragoman/plugins/registrar.h>

namespace dragoman::ssru {

/// F32. Sequences run in parallel, and the columns of a sequence in vectors.
void cpu_scan(Context& context, const ScanArguments& arguments);
void cpu_scan_backward(Context& context, const ScanBackwardArguments& arguments);

/// F64, one element after the other, directly from the formulas.
void reference_scan(Context& context, const ScanArguments& arguments);
void reference_scan_backward(Context& context, const ScanBackwardArguments& arguments);

}  // namespace dragoman::ssru

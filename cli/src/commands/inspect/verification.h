#pragma once

#include "report.h"

#include <dragoman/pipeline/model_verification.h>

namespace dragoman::cli {

/// Describes what agrees, and within which bounds.
Report describe_verification(const pipeline::ModelVerification& verified);

}  // namespace dragoman::cli

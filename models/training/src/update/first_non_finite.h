#pragma once

#include "run/run_parts.h"

#include <string>

namespace dragoman::training {

/// Says where the gradient of the update that comes after `state` stops being finite, for messages: a parameter that is
/// not finite itself, or the first op of a forward or backward pass that made such a number, found by computing the
/// update once more while each op's results are looked at. Overwrites the gradients.
std::string first_non_finite(const RunParts& run, const TrainingState& state);

/// The first parameter with a number that is not finite, for messages.
std::string first_non_finite_parameter(const nn::ParameterStore& parameters);

}  // namespace dragoman::training

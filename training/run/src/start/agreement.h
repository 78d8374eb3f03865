#pragma once

#include "run/checkpoint.h"
#include "run_parts.h"
#include "run_progress.h"

#include <cstdint>
#include <functional>

#include <dragoman/training/trainer.h>

namespace dragoman::training {

/// Compares the plans of all processes of a run before the first update: configuration, data, tokenizers, build and
/// instruction set, position, and the bytes of the parameters. If one differs, all of them throw Error{kBadInput}
/// naming the process that differs from rank 0, and the difference.
void require_agreement(const RunParts& run, const TrainingState& state, StartMode mode);

enum class NextStep : std::uint8_t { kUpdate, kFinish, kInterrupt };

/// Returns the decision of rank 0. The other processes wait for it and adopt its position.
NextStep share_decision(collective::Collective& ranks, RunProgress& progress, const std::function<NextStep()>& decide);

}  // namespace dragoman::training

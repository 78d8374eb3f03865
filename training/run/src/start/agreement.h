#pragma once

#include "run/checkpoint.h"
#include "run_parts.h"
#include "run_progress.h"

#include <cstdint>
#include <functional>

#include <dragoman/training/trainer.h>

namespace dragoman::training {

/// Compares what the processes of a run are about to do, before the first update: configuration, data, tokenizers,
/// build and instruction set, where they stand, and the bytes of the parameters. Error{kBadInput} in all of them, that
/// names who differs from rank 0 and in what.
void require_agreement(const RunParts& run, const TrainingState& state, StartMode mode);

enum class NextStep : std::uint8_t { kUpdate, kFinish, kInterrupt };

/// What rank 0 decides; the others wait for it, and then stand where it stands.
NextStep share_decision(collective::Collective& ranks, RunProgress& progress, const std::function<NextStep()>& decide);

}  // namespace dragoman::training

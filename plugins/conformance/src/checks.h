#pragma once

#include "stepper.h"
#include "subject.h"

#include <dragoman/plugins/conformance.h>

namespace dragoman::plugins {

/// The outcome of one check, which becomes part of a Verdict.
struct Finding {
  bool passed = false;
  std::string detail;
};

/// The model and the devices that a check runs on.
struct Bench {
  const ModelEntry& entry;
  const runtime::Runtime& runtime;
  tensor::Device device;
  std::filesystem::path scratch_folder;

  Subject subject(int threads = 1, std::optional<tensor::ComputeType> packed = {}) const {
    return {entry, runtime, {.device = device, .threads = threads, .packed = packed}};
  }
  /// Returns the types in which the device can multiply packed weights.
  std::vector<tensor::ComputeType> compute_types() const;
};

/// Returns a finding that passes if the distance is at most `allowed`. `what` names both sides, `fault` the likely
/// cause of a failure.
Finding judge(const Distance& found, double allowed, std::string_view what, std::string_view fault);

// One function for each check. conformance.cpp has the list with the property that each one verifies.
Finding check_finite_differences(const Bench& bench);
Finding check_every_parameter(const Bench& bench);
Finding check_cached_steps(const Bench& bench);
Finding check_forced_prefix(const Bench& bench);
Finding check_batch_invariance(const Bench& bench);
Finding check_refill(const Bench& bench);
Finding check_beam_order(const Bench& bench);
Finding check_causality(const Bench& bench);
Finding check_dependence(const Bench& bench);
Finding check_training_mode(const Bench& bench);
Finding check_determinism(const Bench& bench);
Finding check_round_trip(const Bench& bench);
Finding check_device(const Bench& bench);
Finding check_alignment(const Bench& bench);

}  // namespace dragoman::plugins

#pragma once

#include "stepper.h"
#include "subject.h"

#include <dragoman/plugins/conformance.h>

namespace dragoman::plugins {

/// The outcome of one check: what Verdict says of it.
struct Finding {
  bool passed = false;
  std::string detail;
};

/// What a check runs on.
struct Bench {
  const ModelEntry& entry;
  const runtime::Runtime& runtime;
  tensor::Device device;
  std::filesystem::path scratch_folder;

  Subject subject(int threads = 1, std::optional<tensor::ComputeType> packed = {}) const {
    return {entry, runtime, {.device = device, .threads = threads, .packed = packed}};
  }
  /// In which the device can multiply packed weights.
  std::vector<tensor::ComputeType> compute_types() const;
};

/// A finding that passes if the distance is at most `allowed`; `what` names both sides, `fault` the likely cause if it
/// does not.
Finding judge(const Distance& found, double allowed, std::string_view what, std::string_view fault);

// One function per check; conformance.cpp has the list with what each promises.
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

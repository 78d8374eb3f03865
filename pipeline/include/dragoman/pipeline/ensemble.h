#pragma once

#include <string>
#include <vector>

#include <dragoman/core/option_table.h>
#include <dragoman/decoding/ensemble.h>

namespace dragoman::pipeline {

/// Models that translate or score together with a first model.
struct EnsembleOptions {
  std::vector<std::string> models{};
  /// One weight per model, the first model included. Empty: equal weights.
  std::vector<double> weights{};
  decoding::EnsembleMean mean = decoding::EnsembleMean::kProbability;
};

/// Keys: `ensemble`, `ensemble_weights`, `ensemble_mean`.
const core::OptionTable<EnsembleOptions>& ensemble_table();

}  // namespace dragoman::pipeline

#pragma once

#include <vector>

#include <dragoman/core/option_table.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

// The keys `metrics` and `metric` of a validation.

std::vector<core::Option> metric_options();
void read_metrics(core::OptionReader& options, ValidationConfig& config);
void write_metrics(const ValidationConfig& config, core::Json& json);

}  // namespace dragoman::training

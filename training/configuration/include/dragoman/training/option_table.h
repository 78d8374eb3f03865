#pragma once

#include <string>
#include <vector>

#include <dragoman/core/option_table.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

/// Returns the options of every key of a training configuration, except for the keys of the model types. A dot
/// separates the key of an object from a key within it. The list lives as long as the process. Thread-safe.
const std::vector<core::Option>& config_options();

/// Returns the paths of these keys and of a Transformer's keys under `model`, for messages about unknown keys.
const std::vector<std::string>& known_keys();

}  // namespace dragoman::training

#pragma once

#include <vector>

#include <dragoman/core/option_table.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

/// Every key of a training configuration but those of the model types, with dots between a key and what is in it.
const std::vector<core::Option>& config_options();

}  // namespace dragoman::training

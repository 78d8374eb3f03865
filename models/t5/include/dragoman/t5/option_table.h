#pragma once

#include <dragoman/core/option_table.h>
#include <dragoman/t5/config.h>

namespace dragoman::t5 {

/// Every key of a T5's configuration, with its range, default and help.
const core::OptionTable<Config>& option_table();

}  // namespace dragoman::t5

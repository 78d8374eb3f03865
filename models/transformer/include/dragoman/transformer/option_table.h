#pragma once

#include <dragoman/core/option_table.h>
#include <dragoman/transformer/config.h>

namespace dragoman::transformer {

/// Every key of a Transformer's configuration, with its range, default and help.
const core::OptionTable<Config>& option_table();

}  // namespace dragoman::transformer

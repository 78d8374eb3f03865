#pragma once

#include <dragoman/core/option_table.h>
#include <dragoman/decoding/options.h>

namespace dragoman::decoding {

/// Every option of a search that can be set from outside: keys, ranges, defaults, help.
const core::OptionTable<DecodingOptions>& option_table();

}  // namespace dragoman::decoding

#pragma once

#include <dragoman/core/option_table.h>
#include <dragoman/decoding/search.h>

namespace dragoman::decoding {

/// Every option of a search that can be set from outside: keys, ranges, defaults, help.
const core::OptionTable<Search>& search_table();

}  // namespace dragoman::decoding

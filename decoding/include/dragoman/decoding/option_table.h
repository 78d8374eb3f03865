#pragma once

#include <dragoman/core/option_table.h>
#include <dragoman/decoding/search.h>

namespace dragoman::decoding {

/// The table of all options of a search that users can set: keys, ranges, defaults, help. It lives as long as the
/// process. Thread-safe.
///
///     for (const core::Option& option : search_table().options())
///       std::cout << option.name << ": " << option.help << '\n';
const core::OptionTable<Search>& search_table();

}  // namespace dragoman::decoding

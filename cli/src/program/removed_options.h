#pragma once

#include <string_view>

namespace dragoman::cli {

/// Returns the replacement of an option that a command had in the last release. Empty if it had no such option.
/// `option` includes its dashes. An entry is removed one release after the option.
std::string_view removed_option(std::string_view command, std::string_view option);

}  // namespace dragoman::cli

#pragma once

#include <string>
#include <string_view>

namespace dragoman::formats {

/// A text from a file for use in a message: in quotes, control and non-ASCII characters escaped, and not longer than a
/// line, since a hostile name may be megabytes long or talk to the terminal.
std::string quote(std::string_view text);

}  // namespace dragoman::formats

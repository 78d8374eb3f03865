#pragma once

#include <string_view>

namespace dragoman::markup {

/// Returns all named character references as one text: entries `NAME=HEX`, `NAME?=HEX` or `NAME=HEX+HEX`, separated by
/// spaces.
std::string_view reference_names();

}  // namespace dragoman::markup

#pragma once

#include <string>
#include <string_view>

namespace dragoman::plugins {

/// Returns the parts in which two fingerprints differ, for a message; empty if they are equal. Unprintable characters
/// are escaped.
std::string fingerprint_difference(std::string_view plugin, std::string_view host);

}  // namespace dragoman::plugins

#pragma once

#include <string>
#include <string_view>

namespace dragoman::plugins {

/// Which parts of two fingerprints differ, for a message; empty if none does. What could not be
/// printed is escaped.
std::string fingerprint_difference(std::string_view plugin, std::string_view host);

}  // namespace dragoman::plugins

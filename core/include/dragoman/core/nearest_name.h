#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dragoman::core {

/// The candidate closest to `word` by edit distance, or "" if none is close enough to be what was meant.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace dragoman::core

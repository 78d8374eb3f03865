#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dragoman::core {

/// Returns the candidate with the smallest edit distance to `word`, or "" if none is close enough to be a plausible
/// typo.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace dragoman::core

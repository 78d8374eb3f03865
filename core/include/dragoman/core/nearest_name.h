#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dragoman::core {

/// Returns the candidate with the smallest edit distance to `word`, or "" if none is close enough to be a plausible
/// typo. Thread-safe.
///
///     const std::string meant = nearest_name("beam_sise", {"beam_size", "n_best"});     // "beam_size"
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace dragoman::core

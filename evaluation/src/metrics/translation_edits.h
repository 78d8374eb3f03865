#pragma once

#include "edit_distance.h"

namespace dragoman::evaluation {

/// Returns the number of insertions, deletions, substitutions and phrase shifts that turn the hypothesis into the
/// reference. Finding the minimum is NP-hard. This is the greedy search of Tercom (Snover et al., AMTA 2006, section
/// 2), with its limits and sacreBLEU's tie-breaking.
std::size_t translation_edits(const Words& hypothesis, const Words& reference);

}  // namespace dragoman::evaluation

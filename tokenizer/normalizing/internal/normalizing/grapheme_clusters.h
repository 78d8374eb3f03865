#pragma once

#include <cstddef>
#include <string_view>

namespace dragoman::tokenizer {

/// Where the extended grapheme cluster ends that begins at `begin` < text.size() (Unicode Standard Annex 29), what a
/// reader takes for one character: a letter with its accents, CR with LF. A byte that is not UTF-8 is one by itself.
///
/// Rule GB9c of Unicode 15.1, conjuncts of Indic scripts, is not applied.
std::size_t grapheme_cluster_end(std::string_view text, std::size_t begin);

}  // namespace dragoman::tokenizer

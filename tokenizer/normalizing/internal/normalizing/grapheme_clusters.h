#pragma once

#include <cstddef>
#include <string_view>

namespace dragoman::tokenizer {

/// Returns the end of the extended grapheme cluster that begins at `begin` < text.size() (Unicode Standard Annex 29). A
/// cluster is perceived as one character, such as a letter with its accents, or CR with LF. A byte that is not UTF-8 is
/// a separate cluster. Rule GB9c of Unicode 15.1, conjuncts of Indic scripts, is not applied.
std::size_t grapheme_cluster_end(std::string_view text, std::size_t begin);

}  // namespace dragoman::tokenizer

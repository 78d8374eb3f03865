#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/text_range.h>

namespace dragoman::corpus {

/// A source unit and a target unit (words, or pieces) that are translations of each other, both numbered from 0. Sorted
/// as Pharaoh lines are: by source, then by target.
struct Link {
  std::int32_t source = 0;
  std::int32_t target = 0;
  auto operator<=>(const Link&) const = default;
};
using Links = std::vector<Link>;

/// The words of a text: the stretches between ASCII whitespace, which is how word aligners split a line.
std::vector<core::TextRange> words_of(std::string_view text);

enum class Symmetrization : std::uint8_t { kIntersection, kUnion, kGrowDiag, kGrowDiagFinal, kGrowDiagFinalAnd };

/// Joins the alignments that two directions gave (Och and Ney 2003; Koehn, Och and Marcu 2003; grow-diag and final as
/// in Koehn et al. 2005): `forward` of a model that reads the source, `backward` of one that reads the target;
/// both sorted and unique, and so is the result. Growing looks at target units from the left, source units within, and
/// neighbours in the order of the published pseudo-code; final adds what `forward` has before what `backward` has.
Links symmetrize(const Links& forward, const Links& backward, Symmetrization how);

/// "0-0 1-2".
std::string to_pharaoh(const Links& links);
/// Links of a Pharaoh line, sorted and unique. Error{kBadInput} that quotes a word that is no link, or whose numbers
/// are not below the sizes.
Links parse_pharaoh(std::string_view line, std::int64_t source_size, std::int64_t target_size);

}  // namespace dragoman::corpus

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/text_range.h>

namespace dragoman::corpus {

/// A source unit and a target unit (words or pieces) that are translations of each other, both counted from 0. Links
/// are ordered as in Pharaoh lines: by source, then by target.
struct Link {
  std::int32_t source = 0;
  std::int32_t target = 0;
  auto operator<=>(const Link&) const = default;
};
using Links = std::vector<Link>;

/// Returns the words of a text: the stretches between ASCII whitespace, as word aligners split a line.
std::vector<core::TextRange> words_of(std::string_view text);

/// The heuristics of symmetrize().
enum class Symmetrization : std::uint8_t { kIntersection, kUnion, kGrowDiag, kGrowDiagFinal, kGrowDiagFinalAnd };

/// Symmetrizes the alignments of two directions (Och and Ney 2003; Koehn, Och and Marcu 2003; grow-diag and final as in
/// Koehn et al. 2005). `forward` is from a model that reads the source, `backward` from one that reads the target. Both
/// must be sorted and unique, and so is the result.
///
/// The order follows the published pseudo-code. Growing visits target units from the left, source units for each of
/// them, and then the neighbours. The final step adds links of `forward` before links of `backward`.
Links symmetrize(const Links& forward, const Links& backward, Symmetrization how);

/// Returns a Pharaoh line, such as "0-0 1-2".
std::string to_pharaoh(const Links& links);
/// Parses a Pharaoh line. Returns the links sorted and unique. Throws Error{kBadInput} that quotes the first word that
/// is not a link or whose numbers are not below the sizes.
///
///     const Links forward = parse_pharaoh("0-0 1-1", /*source_size=*/2, /*target_size=*/3);
///     const Links backward = parse_pharaoh("0-0 1-2", 2, 3);
///     std::cout << to_pharaoh(symmetrize(forward, backward, Symmetrization::kUnion));     // 0-0 1-1 1-2
///
/// The functions of this header are thread-safe.
Links parse_pharaoh(std::string_view line, std::int64_t source_size, std::int64_t target_size);

}  // namespace dragoman::corpus

#pragma once

#include "target.h"

#include <algorithm>
#include <string_view>

#include <dragoman/corpus/word_alignment.h>

namespace dragoman::fuzz {

/// Two Pharaoh lines, which are read, joined in every way and written.
inline bool exercise_alignment_lines(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  const std::string_view first = bytes.substr(0, end);
  const std::string_view second = end == bytes.npos ? std::string_view() : bytes.substr(end + 1);
  return accepts([&] {
    constexpr std::int64_t most = 64;
    const corpus::Links forward = corpus::parse_pharaoh(first, most, most);
    const corpus::Links backward = corpus::parse_pharaoh(second, most, most);
    const corpus::Links all = corpus::symmetrize(forward, backward, corpus::Symmetrization::kUnion);
    for (const auto how : {corpus::Symmetrization::kIntersection, corpus::Symmetrization::kGrowDiag,
                           corpus::Symmetrization::kGrowDiagFinal, corpus::Symmetrization::kGrowDiagFinalAnd}) {
      const corpus::Links links = corpus::symmetrize(forward, backward, how);
      promise(corpus::parse_pharaoh(corpus::to_pharaoh(links), most, most) == links,
              "what is written is read as the same");
      promise(std::ranges::includes(all, links), "no link comes from nowhere");
    }
  });
}

inline Target alignment_lines_target() {
  return {.name = "alignment_lines", .exercise = exercise_alignment_lines};
}

}  // namespace dragoman::fuzz

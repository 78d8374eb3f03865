#pragma once

#include "target.h"

#include <algorithm>
#include <string_view>

#include <dragoman/pipeline/word_alignment.h>

namespace dragoman::fuzz {

/// Two Pharaoh lines, which are read, joined in every way and written.
inline bool exercise_alignment_lines(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  const std::string_view first = bytes.substr(0, end);
  const std::string_view second = end == bytes.npos ? std::string_view() : bytes.substr(end + 1);
  return accepts([&] {
    constexpr std::int64_t most = 64;
    const pipeline::Links forward = pipeline::parse_pharaoh(first, most, most);
    const pipeline::Links backward = pipeline::parse_pharaoh(second, most, most);
    const pipeline::Links all = pipeline::symmetrize(forward, backward, pipeline::Symmetrization::kUnion);
    for (const auto how : {pipeline::Symmetrization::kIntersection, pipeline::Symmetrization::kGrowDiag,
                           pipeline::Symmetrization::kGrowDiagFinal, pipeline::Symmetrization::kGrowDiagFinalAnd}) {
      const pipeline::Links links = pipeline::symmetrize(forward, backward, how);
      promise(pipeline::parse_pharaoh(pipeline::to_pharaoh(links), most, most) == links,
              "what is written is read as the same");
      promise(std::ranges::includes(all, links), "no link comes from nowhere");
    }
  });
}

inline Target alignment_lines_target() {
  return {.name = "alignment_lines", .exercise = exercise_alignment_lines};
}

}  // namespace dragoman::fuzz

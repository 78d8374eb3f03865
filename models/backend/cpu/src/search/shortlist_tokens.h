#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include <dragoman/ops/project_top_k.h>

namespace dragoman::backend::cpu {

/// Returns the tokens that row r may choose from; empty if it may choose any.
inline std::span<const std::int32_t> shortlist_of(const ops::ProjectTopKArguments& arguments, std::int64_t r) {
  if (arguments.shortlist_of_row.empty()) return {};
  const ops::ShortlistRange range = arguments.shortlist_of_row[r];
  return arguments.shortlist.span().subspan(static_cast<std::size_t>(range.begin),
                                            static_cast<std::size_t>(range.end - range.begin));
}

/// Sets the logits of all tokens in [first, first + count) that are not in the shortlist to -infinity.
inline void forbid_others(std::span<const std::int32_t> shortlist, std::int64_t first, std::int64_t count,
                          float* logits) {
  std::int64_t done = 0;
  for (auto next = std::ranges::lower_bound(shortlist, first); done < count; ++next) {
    const bool is_last = next == shortlist.end() || *next >= first + count;
    const std::int64_t end = is_last ? count : *next - first;
    std::fill(logits + done, logits + end, -std::numeric_limits<float>::infinity());
    if (is_last) return;
    done = end + 1;
  }
}

}  // namespace dragoman::backend::cpu

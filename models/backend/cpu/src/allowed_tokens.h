#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include <dragoman/ops/project_top_k.h>

namespace dragoman::backend::cpu {

/// What row r may choose from; empty: everything.
inline std::span<const std::int32_t> allowed_of(const ops::ProjectTopKArguments& arguments, std::int64_t r) {
  if (arguments.allowed_of_row.empty()) return {};
  const ops::AllowedRange range = arguments.allowed_of_row[r];
  return arguments.allowed.span().subspan(static_cast<std::size_t>(range.begin),
                                          static_cast<std::size_t>(range.end - range.begin));
}

/// Logits of the tokens [first, first + count): -infinity but for those of the list.
inline void forbid_others(std::span<const std::int32_t> allowed, std::int64_t first, std::int64_t count,
                          float* logits) {
  std::int64_t done = 0;
  for (auto next = std::ranges::lower_bound(allowed, first); done < count; ++next) {
    const bool is_last = next == allowed.end() || *next >= first + count;
    const std::int64_t end = is_last ? count : *next - first;
    std::fill(logits + done, logits + end, -std::numeric_limits<float>::infinity());
    if (is_last) return;
    done = end + 1;
  }
}

}  // namespace dragoman::backend::cpu

#pragma once

#include "scratch.h"
#include "target.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <dragoman/decoding/shortlist.h>

namespace dragoman::fuzz {

/// Reads a shortlist, text or binary, over a vocabulary of single letters, and asks it about sources.
inline bool exercise_shortlist(std::string_view bytes) {
  if (is_packed(bytes)) return false;
  const std::filesystem::path path = scratch() / "shortlist";
  put_file(path, bytes);
  const auto id = [](std::string_view piece) -> std::optional<std::int32_t> {
    if (piece.size() != 1 || piece.front() < 'a' || piece.front() > 'z') return std::nullopt;
    return piece.front() - 'a';
  };
  return accepts([&] {
    const auto shortlist = decoding::Shortlist::read(
        path, {.source_size = 26, .target_size = 26, .end = 25, .unknown = 24, .source_id = id, .target_id = id},
        {.first = 2, .best = 3});
    std::vector<std::int32_t> candidates;
    for (std::int32_t token = 0; token < 26; ++token) {
      const std::vector<std::int32_t> source = {token, 25};
      shortlist.candidates(source, candidates);
      promise(std::ranges::adjacent_find(candidates, std::ranges::greater_equal()) == candidates.end(),
              "candidates rise");
      promise(!candidates.empty() && candidates.front() >= 0 && candidates.back() == 25,
              "candidates are of the vocabulary, and the end is among them");
    }
  });
}

inline Target shortlist_target() {
  return {.name = "shortlist", .exercise = exercise_shortlist};
}

}  // namespace dragoman::fuzz

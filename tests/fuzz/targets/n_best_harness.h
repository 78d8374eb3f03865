#pragma once

#include "target.h"

#include <string_view>

#include <dragoman/pipeline/reranker.h>

namespace dragoman::fuzz {

/// Reads a line of an n-best list, as `rerank` does. True if it is one, with or without a list.
inline bool exercise_n_best(std::string_view bytes) {
  return accepts([&] {
    const pipeline::NBestLine line = pipeline::read_n_best_line(bytes, "fuzz: line 1");
    promise(line.record.is_object(), "a line is an object");
    promise(line.translations.size() == line.scores.size(), "each translation has a score");
    if (!line.can_be_ranked()) return;
    const pipeline::NBestLine again = pipeline::read_n_best_line(core::one_line(line.record), "fuzz: line 1");
    promise(again.translations == line.translations && again.scores == line.scores && again.source == line.source,
            "a line that is written and read is the same");
  });
}

inline Target n_best_target() {
  return {.name = "n_best", .exercise = exercise_n_best, .budget = {.bytes_per_byte = 256}};
}

}  // namespace dragoman::fuzz

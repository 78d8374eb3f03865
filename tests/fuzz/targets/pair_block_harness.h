#pragma once

#include "data/block_store.h"
#include "target.h"

#include <string_view>

namespace dragoman::fuzz {

/// Reads a block of encoded pairs, as training does from disk. True if it is one.
inline bool exercise_pair_block(std::string_view bytes) {
  return accepts([&] {
    const training::EncodedBlock block = training::read_block(bytes, "fuzz");
    promise(block.source.size() == block.target.size(), "a pair has two sides");
    promise(training::to_bytes(block) == bytes, "what is read and written is the same");
  });
}

inline Target pair_block_target() {
  return {.name = "pair_block", .exercise = exercise_pair_block, .budget = {.bytes_per_byte = 64}};
}

}  // namespace dragoman::fuzz

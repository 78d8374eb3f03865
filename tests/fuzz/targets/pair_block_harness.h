#pragma once

#include "data/block_store.h"
#include "growth.h"
#include "stored_zip.h"
#include "target.h"

#include <cstdint>
#include <string>
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

/// Pairs of one token on each side. See to_bytes(EncodedBlock).
inline std::string many_pairs(std::string_view /*seed*/, std::size_t size) {
  constexpr std::string_view kMagic = "DRGBLK1\n";
  const std::size_t pairs = size / 16;
  const auto repeated = [&](std::uint64_t number) {
    return parts(pairs * 4, [&](std::size_t) { return little_endian(number, 4); });
  };
  const std::string lengths = repeated(1);
  const std::string tokens = repeated(2);
  return std::string(kMagic) + little_endian(pairs, 8) + little_endian(pairs, 8) + little_endian(pairs, 8) +
         std::string(16, '\0') + lengths + lengths + tokens + tokens;
}

inline Target pair_block_target() {
  return {
      .name = "pair_block",
      .exercise = exercise_pair_block,
      .budget = {.bytes_per_byte = 64},
      .growths = {{"many pairs", "ids", many_pairs}},
  };
}

}  // namespace dragoman::fuzz

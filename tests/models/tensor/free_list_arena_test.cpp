#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/random.h>
#include <dragoman/tensor/free_list_arena.h>

namespace dragoman::tensor {
namespace {

TEST(FreeListArena, PartsNeverOverlapAndAreAligned) {
  FreeListArena memory(host_memory());
  std::map<char*, std::size_t> live;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    if (live.size() > 20 || (!live.empty() && core::random_below(2, 1, 0, i) == 0)) {
      const auto which = std::next(live.begin(), static_cast<std::ptrdiff_t>(core::random_below(live.size(), 2, 0, i)));
      for (std::size_t b = 0; b < which->second; ++b)
        ASSERT_EQ(which->first[b], static_cast<char>(which->second)) << "somebody else wrote there";
      memory.release(which->first, which->second);
      live.erase(which);
      continue;
    }
    const std::size_t bytes = 1 + core::random_below(40000, 3, 0, i);
    auto* data = static_cast<char*>(memory.allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0U);
    std::memset(data, static_cast<char>(bytes), bytes);
    live[data] = bytes;
  }
  EXPECT_LE(memory.bytes_reserved(), std::size_t{3} << 20) << "20 parts of 40,000 bytes fit into less than one MiB";
}

TEST(FreeListArena, NeighboursThatAreFreeBecomeOne) {
  FreeListArena memory(host_memory());
  constexpr std::size_t kPart = std::size_t{1} << 18;
  std::vector<void*> parts;
  for (int i = 0; i < 4; ++i) parts.push_back(memory.allocate(kPart));  // a block of 1 MiB is full
  const std::size_t reserved = memory.bytes_reserved();
  for (const int i : {0, 2, 1, 3}) memory.release(parts[static_cast<std::size_t>(i)], kPart);
  EXPECT_EQ(memory.allocate(4 * kPart), *std::min_element(parts.begin(), parts.end()));
  EXPECT_EQ(memory.bytes_reserved(), reserved);
}

TEST(FreeListArena, EqualStepsGetEqualAddresses) {
  FreeListArena memory(host_memory());
  const auto step = [&] {
    std::vector<void*> all;
    for (std::size_t i = 1; i < 8; ++i) {
      all.push_back(memory.allocate(i << 17));
      if (i % 3 == 0) memory.release(all[i - 2], (i - 1) << 17);
    }
    return all;
  };
  step();
  memory.reset();
  const std::uint64_t generation = memory.generation();
  const std::vector<void*> second = step();
  memory.reset();
  EXPECT_EQ(step(), second);
  EXPECT_EQ(memory.generation(), generation) << "nothing was added";
}

TEST(FreeListArena, PartsOfALentBlockAreUsedOnceTheyAreReleased) {
  constexpr std::size_t kPart = std::size_t{1} << 18;
  Buffer block(host_memory(), 4 * kPart);
  auto* const lent = static_cast<char*>(block.data());
  FreeListArena memory(host_memory());
  memory.lend(lent, 4 * kPart);
  void* const own = memory.allocate(3 * kPart);
  EXPECT_EQ(memory.bytes_reserved(), 4 * kPart) << "nothing of the lent block was free";
  EXPECT_TRUE(own < lent || own >= lent + 4 * kPart);
  memory.release(lent + 2 * kPart, 2 * kPart);
  memory.release(lent + kPart, kPart);
  EXPECT_EQ(memory.allocate(3 * kPart), lent + kPart);
  EXPECT_EQ(memory.bytes_reserved(), 4 * kPart) << "lent blocks are not its own";
  memory.reset();
  EXPECT_NE(memory.allocate(3 * kPart), lent + kPart) << "the block was returned";
  EXPECT_THROW(memory.release(lent, kPart), core::Error);
  EXPECT_THROW(memory.lend(lent + 1, kPart), core::Error);
  EXPECT_THROW(memory.lend(lent, kPart - 1), core::Error);
}

TEST(FreeListArena, FreedBlocksAreAllocatedAgain) {
  FreeListArena memory(host_memory());
  memory.allocate(1000);
  const std::uint64_t generation = memory.generation();
  memory.free_blocks();
  EXPECT_EQ(memory.bytes_reserved(), 0U);
  EXPECT_NE(memory.generation(), generation) << "addresses change";
  std::memset(memory.allocate(1000), 1, 1000);
  EXPECT_GT(memory.bytes_reserved(), 0U);
}

TEST(FreeListArena, WhatIsNotItsOwnIsRefused) {
  FreeListArena memory(host_memory());
  memory.allocate(10);
  char other[64];
  EXPECT_THROW(memory.release(other, 64), core::Error);
}

}  // namespace
}  // namespace dragoman::tensor

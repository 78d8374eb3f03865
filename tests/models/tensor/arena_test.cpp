#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/tensor/arena.h>

namespace dragoman::tensor {
namespace {

/// Counts what it hands out, and notices what does not come back.
class CountingAllocator final : public DeviceMemory {
 public:
  ~CountingAllocator() override { EXPECT_TRUE(live_.empty()) << live_.size() << " blocks leaked"; }
  void* allocate(std::size_t bytes) override {
    ++allocations_;
    void* data = host_memory().allocate(bytes);
    live_[data] = bytes;
    return data;
  }
  void deallocate(void* data, std::size_t bytes) noexcept override {
    EXPECT_EQ(live_.at(data), bytes);
    live_.erase(data);
    host_memory().deallocate(data, bytes);
  }
  int allocations() const { return allocations_; }

 private:
  int allocations_ = 0;
  std::map<void*, std::size_t> live_;
};

std::vector<void*> one_step(Arena& arena) {
  std::vector<void*> addresses;
  for (const std::size_t bytes : {100, 1, 5000000, 64, 3000000, 0, 700000}) addresses.push_back(arena.allocate(bytes));
  return addresses;
}

TEST(Arena, HandsOutAlignedMemoryThatDoesNotOverlap) {
  CountingAllocator allocator;
  Arena arena(allocator);
  std::vector<std::pair<char*, std::size_t>> blocks;
  for (std::size_t i = 0; i < 300; ++i) {
    const std::size_t bytes = 1 + i * i * 7;
    auto* data = static_cast<char*>(arena.allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0U);
    std::memset(data, static_cast<int>(i % 251), bytes);
    blocks.emplace_back(data, bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i].first[0], static_cast<char>(i % 251)) << "first byte of block " << i;
    EXPECT_EQ(blocks[i].first[blocks[i].second - 1], static_cast<char>(i % 251)) << "last byte of block " << i;
  }
}

TEST(Arena, FromTheSecondEqualStepOnNothingIsAllocatedAndAddressesRepeat) {
  CountingAllocator allocator;
  Arena arena(allocator);
  one_step(arena);
  arena.reset();
  const std::vector<void*> second = one_step(arena);
  const int allocations = allocator.allocations();
  for (int step = 0; step < 5; ++step) {
    arena.reset();
    EXPECT_EQ(one_step(arena), second);
  }
  EXPECT_EQ(allocator.allocations(), allocations);
}

TEST(Arena, ASmallerStepAllocatesNothing) {
  CountingAllocator allocator;
  Arena arena(allocator);
  one_step(arena);
  arena.reset();
  const int allocations = allocator.allocations();
  arena.allocate(10);
  arena.reset();
  arena.allocate(1000000);
  EXPECT_EQ(allocator.allocations(), allocations);
}

TEST(Arena, RewindFreesWhatCameAfterTheMark) {
  CountingAllocator allocator;
  Arena arena(allocator);
  auto* kept = static_cast<char*>(arena.allocate(100));
  std::memset(kept, 7, 100);
  const Arena::Mark mark = arena.mark();
  void* first = arena.allocate(1000);
  arena.allocate(10000000);  // needs further blocks
  arena.rewind(mark);
  EXPECT_EQ(arena.allocate(1000), first);
  EXPECT_EQ(kept[99], 7);
}

TEST(Arena, RewindToBeforeTheFirstAllocation) {
  CountingAllocator allocator;
  Arena arena(allocator);
  const Arena::Mark start = arena.mark();
  void* first = arena.allocate(10);
  arena.rewind(start);
  EXPECT_EQ(arena.allocate(10), first);
  Arena untouched(allocator);
  untouched.rewind(untouched.mark());
  untouched.reset();
}

TEST(Arena, RepeatedScratchScopesReuseTheSameMemory) {
  CountingAllocator allocator;
  Arena arena(allocator);
  std::set<void*> addresses;
  for (int i = 0; i < 100; ++i) {
    const ScratchScope scope(arena);
    addresses.insert(arena.allocate(600000));
    const ScratchScope inner(arena);
    arena.allocate(900000);
  }
  EXPECT_EQ(addresses.size(), 1U);
  EXPECT_LE(allocator.allocations(), 2);
}

TEST(Arena, ShowsWhatWasAllocatedBetweenMarks) {
  CountingAllocator allocator;
  Arena arena(allocator);
  arena.allocate(100);
  const Arena::Mark begin = arena.mark();
  std::map<void*, std::size_t> expected;
  for (const std::size_t bytes : {640U, 64U, 3000000U, 128U}) expected[arena.allocate(bytes)] = bytes;
  const Arena::Mark end = arena.mark();
  arena.allocate(64);
  std::size_t sum = 0;
  arena.for_each_part(begin, end, [&](char* data, std::size_t bytes) {
    sum += bytes;
    for (const auto& [first, size] : expected)
      EXPECT_TRUE(first < data || first >= data + bytes || static_cast<char*>(first) + size <= data + bytes);
  });
  EXPECT_EQ(sum, 640U + 64 + 3000000 + 128) << "one part in each of two blocks";
  arena.for_each_part(end, end, [](char*, std::size_t) { ADD_FAILURE() << "there is nothing"; });
}

TEST(Arena, FreedBlocksAreAllocatedAgain) {
  CountingAllocator allocator;
  Arena arena(allocator);
  arena.allocate(100);
  const std::uint64_t generation = arena.generation();
  arena.free_blocks();
  EXPECT_EQ(arena.bytes_reserved(), 0U);
  EXPECT_NE(arena.generation(), generation);
  arena.reset();
  arena.rewind(arena.mark());
  std::memset(arena.allocate(100), 1, 100);
  EXPECT_EQ(allocator.allocations(), 2);
}

TEST(Arena, MakesTensors) {
  Arena arena(host_memory());
  const Tensor x = arena.allocate(3, 5, DType::kF64, Device::kReference);
  EXPECT_EQ(x.rows, 3);
  EXPECT_EQ(x.cols, 5);
  EXPECT_EQ(x.stride, 5);
  EXPECT_EQ(x.dtype, DType::kF64);
  EXPECT_EQ(x.device, Device::kReference);
  EXPECT_FALSE(arena.allocate(0, 5, DType::kF32, Device::kCpu).empty()) << "no rows, but a place";
}

TEST(Buffer, OwnsItsMemoryAndMoves) {
  CountingAllocator allocator;
  Buffer a(allocator, 100);
  std::memset(a.data(), 1, 100);
  void* data = a.data();
  Buffer b(std::move(a));
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b.size(), 100U);
  Buffer c(allocator, 5000000);
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
  const Buffer empty(allocator, 0);
  const Buffer nothing;
  EXPECT_EQ(nothing.data(), nullptr);
}

/// In memory that copies, and in the host's, which moves large blocks without a copy.
TEST(Buffer, BecomesLargerAndKeepsItsContents) {
  CountingAllocator copying;
  for (DeviceMemory* memory : {static_cast<DeviceMemory*>(&copying), &host_memory()}) {
    Buffer buffer(*memory, 100);
    std::memset(buffer.data(), 7, buffer.size());
    for (const std::size_t larger : {1000UL, 200000UL, 300000UL, 5000000UL, 9000001UL}) {
      const std::size_t before = buffer.size();
      buffer.enlarge(larger);
      EXPECT_EQ(buffer.size(), larger);
      const auto* bytes = static_cast<const char*>(buffer.data());
      EXPECT_TRUE(std::all_of(bytes, bytes + before, [](char c) { return c == 7; })) << larger;
      std::memset(buffer.data(), 7, buffer.size());
    }
  }
}

TEST(HostMemory, GivesLargeBlocksAtHugePageBoundaries) {
  const Buffer small(host_memory(), 1000);
  const Buffer large(host_memory(), std::size_t{3} << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small.data()) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % (std::size_t{2} << 20), 0U);
}

}  // namespace
}  // namespace dragoman::tensor

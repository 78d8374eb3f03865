#include "emulated_backend.h"
#include "simt.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/tensor/arena.h>
#include <dragoman/tensor/free_list_arena.h>

// What the emulation finds in the device's memory, by planted faults. This file is compiled as kernels are.
namespace dragoman::backend::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::emulation::Order;

/// The message of what a function throws.
template <class Function>
std::string failure_of(const Function& function) {
  try {
    function();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no failure";
}

struct CopyCells {
  const std::int32_t* from;
  std::int32_t* to;
  void operator()() const { to[simt::thread_index()] = from[simt::thread_index()]; }
};
struct CopyCellQuads {
  const std::int32_t* from;
  std::int32_t* to;
  void operator()() const {
    simt::store_vector(to + 4 * simt::thread_index(), simt::load_vector<4>(from + 4 * simt::thread_index()));
  }
};
struct CopyCellsThroughShared {
  const std::int32_t* from;
  std::int32_t* to;
  void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<std::int32_t>(4);
    simt::copy_async(cells, 0, from);
    simt::commit_copies();
    simt::wait_for_copies<0>();
    *to = cells[0];
  }
};
struct CopyHalves {
  const std::uint16_t* from;
  std::uint16_t* to;
  void operator()() const { to[simt::thread_index()] = from[simt::thread_index()]; }
};
struct AddOneToCells {
  std::int32_t* cells;
  void operator()() const { cells[simt::thread_index()] += 1; }
};

class WatchedMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::emulation::kWatchesKernels) GTEST_SKIP() << "kernels are not watched in this build";
  }
  std::int32_t* cells(std::size_t count) {
    buffers_.emplace_back(memory(), count * sizeof(std::int32_t));
    return static_cast<std::int32_t*>(buffers_.back().data());
  }
  std::int32_t* zeros(std::size_t count) {
    std::int32_t* const data = cells(count);
    memory().clear(data, count * sizeof(std::int32_t));
    return data;
  }
  std::vector<std::int32_t> read(const std::int32_t* data, std::size_t count) {
    std::vector<std::int32_t> values(count);
    memory().copy_out(values.data(), data, count * sizeof(std::int32_t));
    return values;
  }
  testing::EmulatedMemory& memory() { return backend_.memory(0); }

  testing::EmulatedCuda backend_;
  std::vector<tensor::Buffer> buffers_;
};

template <class Kernel>
std::string failure_of(const Kernel& kernel, int threads, simt::Grid grid, std::size_t shared = 0) {
  return failure_of([&] {
    simt::launch(grid, threads, shared, kernel);
    testing::emulation::wait_for_stream();
  });
}

TEST_F(WatchedMemory, WhatNothingHasWrittenIsNotRead) {
  std::int32_t* const from = cells(64);
  std::int32_t* const to = cells(64);
  EXPECT_THAT(failure_of(CopyCells{from, to}, 32, {}),
              AllOf(HasSubstr("CopyCells, block 0, 0, thread 0: reads byte 0 of 4 at "),
                    HasSubstr("which nothing has written since it was allocated"), HasSubstr("addr2line")));
  EXPECT_THAT(failure_of(CopyCellQuads{from, to}, 4, {}), HasSubstr("reads byte 0 of 16"));
  EXPECT_THAT(failure_of(CopyCellsThroughShared{from, to}, 1, {}, 16), HasSubstr("reads byte 0 of 16"));
  EXPECT_THAT(failure_of(AddOneToCells{from}, 32, {}), HasSubstr("reads byte 0 of 4"));
  const auto halves = [](std::int32_t* data) { return reinterpret_cast<std::uint16_t*>(data); };
  EXPECT_THAT(failure_of(CopyHalves{halves(from), halves(to)}, 32, {}), HasSubstr("reads byte 0 of 2"));
  EXPECT_THAT(failure_of([&] { read(cells(1), 1); }), HasSubstr("a copy to the host reads byte 0 of 4"));
}

TEST_F(WatchedMemory, WhatWasWrittenIsRead) {
  std::int32_t* const from = cells(64);
  std::int32_t* const to = cells(64);
  const std::vector<std::int32_t> values(16, 7);
  memory().copy_in(from, values.data(), 64);
  EXPECT_EQ(failure_of(CopyCells{from, to}, 16, {}), "no failure");
  EXPECT_EQ(failure_of(AddOneToCells{to}, 16, {}), "no failure");
  EXPECT_EQ(failure_of(CopyCellQuads{to, from}, 4, {}), "no failure");
  EXPECT_EQ(read(from, 16), std::vector(16, 8));
  EXPECT_THAT(failure_of(CopyCells{from, to}, 17, {}), HasSubstr("thread 16: reads byte 0 of 4"));
}

/// A copy within the device takes what is there, as where memory moves that is not full; it stays unwritten.
TEST_F(WatchedMemory, CopiesTakeTheStateOfBytesAlong) {
  std::int32_t* const from = cells(2);
  std::int32_t* const to = zeros(2);
  memory().clear(from, 4);
  memory().copy(to, from, 8);
  EXPECT_EQ(read(to, 1), std::vector(1, 0));
  EXPECT_THAT(failure_of([&] { read(to, 2); }), HasSubstr("reads byte 4 of 8"));
}

TEST_F(WatchedMemory, WhatIsNotAllocatedIsNotTouched) {
  void* const gone = memory().allocate(64);
  memory().clear(gone, 64);
  memory().deallocate(gone, 64);
  std::int32_t* const short_ones = zeros(8);
  EXPECT_THAT(failure_of(CopyCells{short_ones, short_ones}, 9, {}), HasSubstr("thread 8: reads byte 0 of 4"));
  EXPECT_NE(static_cast<void*>(short_ones + 1024), gone) << "which would be the next page";
  memory().clear(short_ones, 32);
  std::int32_t* const others = zeros(4096);
  EXPECT_THAT(failure_of(CopyCells{others, short_ones}, 9, {}),
              AllOf(HasSubstr("thread 8: writes byte 0 of 4"), HasSubstr("is not allocated")));
  EXPECT_THAT(failure_of([&] { memory().clear(short_ones, 36); }), HasSubstr("clearing writes byte 32 of 36"));
}

TEST_F(WatchedMemory, MemoryOfTheHostIsNotTouched) {
  std::int32_t* const of_device = zeros(16);
  static std::int32_t of_program[16];
  std::int32_t of_stack[16] = {};
  std::vector<std::int32_t> of_heap(16);
  for (std::int32_t* const of_host : {of_program, of_stack, of_heap.data()}) {
    EXPECT_THAT(failure_of(CopyCells{of_host, of_device}, 16, {}),
                AllOf(HasSubstr("CopyCells, block 0, 0, thread 0: reads 4 bytes at "),
                      HasSubstr("which is not memory of a device (addr2line")));
    EXPECT_THAT(failure_of(CopyCells{of_device, of_host}, 16, {}), HasSubstr("thread 0: writes 4 bytes at "));
    EXPECT_THAT(failure_of([&] { memory().copy(of_device, of_host, 64); }),
                AllOf(HasSubstr("a copy within the device reads"), HasSubstr("which is not memory of a device")));
    EXPECT_THAT(failure_of([&] { memory().clear(of_host, 64); }), HasSubstr("which is not memory of a device"));
  }
  alignas(16) static std::int32_t quads[16];
  EXPECT_THAT(failure_of(CopyCellQuads{quads, of_device}, 4, {}), HasSubstr("reads 16 bytes at "));
  EXPECT_THAT(failure_of(CopyCellsThroughShared{quads, of_device}, 1, {}, 16), HasSubstr("reads 16 bytes at "));
}

/// What the host cannot touch, either, ends the program, with the same report.
TEST_F(WatchedMemory, AnAddressWithoutMemoryIsNamed) {
  const auto* const nothing = reinterpret_cast<const std::int32_t*>(std::uintptr_t{4096});
  EXPECT_DEATH(simt::launch({}, 1, 0, CopyCells{nothing, zeros(1)}),
               "CopyCells, block 0, 0, thread 0: reads 4 bytes at 0x1000, which is not memory of a device");
}

__attribute__((noinline)) void add_all(const std::int32_t* values, int count, std::int32_t* sum) {
  for (int i = 0; i < count; ++i) *sum += values[i];
}
constexpr std::int32_t kPrimes[] = {2, 3, 5, 7};
/// Reads its parameters, constants of the program, values of other lanes, and a stack: its own or the one of thread 0.
struct AddFromEverywhere {
  std::int32_t parameters[4];
  std::int32_t* sums;
  const std::int32_t** stack;
  bool shares_stack;
  void operator()() const {
    std::int32_t sum = simt::shuffle(simt::thread_index(), 1);
    add_all(parameters, 4, &sum);
    add_all(kPrimes, 4, &sum);
    if (simt::thread_index() == 0) *stack = &sum;
    simt::barrier();
    add_all(shares_stack ? *stack : &sum, 1, &sums[simt::thread_index()]);
    simt::barrier();
  }
};
TEST_F(WatchedMemory, AThreadTouchesItsOwnStackParametersAndConstants) {
  std::int32_t* const sums = zeros(2);
  auto* const stack = reinterpret_cast<const std::int32_t**>(zeros(2));
  EXPECT_EQ(failure_of(AddFromEverywhere{{1, 2, 3, 4}, sums, stack, false}, 2, {}), "no failure");
  EXPECT_EQ(read(sums, 2), std::vector(2, 28));
  EXPECT_THAT(failure_of(AddFromEverywhere{{}, sums, stack, true}, 2, {}),
              HasSubstr("AddFromEverywhere, block 0, 0, thread 1: reads 4 bytes at "));
}

TEST_F(WatchedMemory, AnArenaHandsOutNothingThatIsWritten) {
  tensor::Arena arena(memory());
  tensor::FreeListArena list(memory());
  std::int32_t* const to = cells(16);
  for (int step = 0; step < 3; ++step) {
    auto* const first = static_cast<std::int32_t*>(arena.allocate(64));
    auto* const second = static_cast<std::int32_t*>(list.allocate(64));
    for (std::int32_t* const data : {first, second}) {
      EXPECT_THAT(failure_of(CopyCells{data, to}, 16, {}), HasSubstr("which nothing has written")) << step;
      memory().clear(data, 64);
      EXPECT_EQ(failure_of(CopyCells{data, to}, 16, {}), "no failure");
    }
    {
      const tensor::ScratchScope scope(arena);
      memory().clear(arena.allocate(64), 64);
    }
    EXPECT_THAT(failure_of(CopyCells{static_cast<std::int32_t*>(arena.allocate(64)), to}, 16, {}),
                HasSubstr("which nothing has written"));
    list.release(second, 64);
    arena.reset();
  }
}

/// A step that is made again makes its memory anew, too.
TEST_F(WatchedMemory, AReplayFindsNothingInTheMemoryThatItWasRecordedWith) {
  tensor::Arena arena(memory());
  std::int32_t* const input = zeros(16);
  std::int32_t* const to = zeros(16);
  const std::int32_t* scratch = nullptr;
  arena.allocate(64);  // a block, which no capture may allocate
  arena.reset();
  testing::emulation::begin_capture();
  {
    auto* const data = static_cast<std::int32_t*>(arena.allocate(64));
    simt::launch({}, 16, 0, CopyCells{input, data});
    simt::launch({}, 16, 0, CopyCells{data, to});
    scratch = data;
  }
  const std::vector<testing::emulation::Work> works = testing::emulation::end_capture();
  ASSERT_EQ(works.size(), 3U) << "two launches, and memory that was handed out";
  for (int replay = 0; replay < 2; ++replay) {
    for (const auto& work : works) testing::emulation::put(work);
    EXPECT_EQ(read(scratch, 16), std::vector(16, 0));
  }
  testing::emulation::put(works[0]);
  EXPECT_THAT(failure_of([&] { testing::emulation::put(works[2]); }), HasSubstr("which nothing has written"));
}

/// Blocks count each other, by a load and a store with a barrier between.
struct CountBlocks {
  std::int32_t* counter;
  void operator()() const {
    const std::int32_t before = *counter;
    simt::barrier();
    if (simt::thread_index() == 0) *counter = before + 1;
  }
};
/// The last block of a launch adds up what all have written: it knows that it is the last by its number.
struct AddInTheLastBlock {
  std::int32_t* parts;
  std::int32_t* sum;
  void operator()() const {
    parts[simt::block_index()] = 1;
    if (simt::block_index() + 1 < simt::block_count()) return;
    *sum = 0;
    for (std::int64_t i = 0; i < simt::block_count(); ++i) *sum += parts[i];
  }
};
TEST_F(WatchedMemory, WhatReliesOnTheOrderOfBlocksShows) {
  constexpr int kBlocks = 20;
  std::int32_t* const counter = zeros(1);
  simt::launch({kBlocks}, 64, 0, CountBlocks{counter});
  EXPECT_EQ(read(counter, 1).front(), kBlocks) << "one block after the other hides it";
  std::int32_t* const parts = cells(kBlocks);
  EXPECT_EQ(failure_of(AddInTheLastBlock{parts, counter}, 1, {kBlocks}), "no failure");
  testing::emulation::set_order(Order::kShuffled, 5);
  memory().clear(counter, 4);
  simt::launch({kBlocks}, 64, 0, CountBlocks{counter});
  EXPECT_LT(read(counter, 1).front(), kBlocks);
  std::int32_t* const others = cells(kBlocks);
  EXPECT_THAT(failure_of(AddInTheLastBlock{others, counter}, 1, {kBlocks}),
              AllOf(HasSubstr("which nothing has written"), HasSubstr("mixed by seed 5")));
  testing::emulation::set_order(Order::kForward);
}

class WatchedRaces : public WatchedMemory {
 protected:
  void SetUp() override {
    WatchedMemory::SetUp();
    testing::emulation::set_watched_races(true);
  }
  void TearDown() override { testing::emulation::set_watched_races(false); }
};

struct ReadTheNextThreads {
  std::int32_t* cells;
  bool waits;
  void operator()() const {
    const int thread = simt::thread_index();
    cells[thread] = thread;
    if (waits) simt::barrier();
    const std::int32_t other = cells[(thread + 1) % simt::thread_count()];
    if (waits) simt::barrier();
    cells[thread] = other;
  }
};
struct WriteHalves {
  std::uint16_t* halves;
  void operator()() const { halves[simt::block_index() * simt::thread_count() + simt::thread_index()] = 1; }
};
TEST_F(WatchedRaces, AreFoundInAnyOrder) {
  std::int32_t* const data = zeros(64);
  EXPECT_THAT(failure_of(CountBlocks{data}, 64, {2}),
              AllOf(HasSubstr("CountBlocks, block 1, 0"), HasSubstr("another block has written in the same launch")));
  EXPECT_THAT(failure_of(AddInTheLastBlock{data, data + 32}, 1, {8}), HasSubstr("another block has written"));
  EXPECT_THAT(failure_of(ReadTheNextThreads{data, false}, 64, {}), HasSubstr("in the same launch"));
  EXPECT_EQ(failure_of(ReadTheNextThreads{data, true}, 64, {}), "no failure");
  EXPECT_THAT(failure_of(ReadTheNextThreads{data, true}, 64, {2}), HasSubstr("another block has"));
  EXPECT_THAT(failure_of(AddOneToCells{data}, 64, {2}), HasSubstr("another block has written"));
  EXPECT_EQ(failure_of(AddOneToCells{data}, 64, {}), "no failure");
  EXPECT_EQ(failure_of(CopyCells{data, data}, 64, {}), "no failure");
  EXPECT_EQ(failure_of(WriteHalves{reinterpret_cast<std::uint16_t*>(data)}, 33, {3}), "no failure");
}

/// With lazy streams whatever the host does before it waits comes first.
class LazyStreams : public WatchedMemory {
 protected:
  void SetUp() override {
    WatchedMemory::SetUp();
    testing::emulation::set_lazy_streams(true);
  }
  void TearDown() override {
    testing::emulation::wait_without_failing();
    testing::emulation::set_lazy_streams(false);
  }
};

TEST_F(LazyStreams, WorkWaitsUntilItsThreadWaits) {
  std::int32_t* const from = cells(16);
  std::int32_t* const to = cells(16);
  std::vector<std::int32_t> values(16, 3);
  memory().upload(from, values.data(), 64);
  values.assign(16, 4);  // which an upload allows
  const std::uint64_t before = testing::emulation::launches();
  simt::launch({}, 16, 0, CopyCells{from, to});
  const auto early = memory().begin_read(to, 64);
  simt::launch({}, 16, 0, AddOneToCells{to});
  EXPECT_EQ(testing::emulation::launches(), before);
  EXPECT_EQ(*reinterpret_cast<const std::int32_t*>(early->wait().data()), 3);
  EXPECT_EQ(testing::emulation::launches(), before + 1);
  EXPECT_EQ(read(to, 16), std::vector(16, 4));
}

TEST_F(LazyStreams, WhatAnotherThreadHasQueuedIsNotThereYet) {
  std::int32_t* const data = cells(16);
  std::int32_t* const to = cells(16);
  const std::vector<std::int32_t> values(16, 3);
  memory().upload(data, values.data(), 64);
  std::string failure;
  std::thread([&] { failure = failure_of(CopyCells{data, to}, 16, {}); }).join();
  EXPECT_THAT(failure, HasSubstr("which nothing has written"));
  testing::emulation::wait_for_stream();
  std::thread([&] { failure = failure_of(CopyCells{data, to}, 16, {}); }).join();
  EXPECT_EQ(failure, "no failure");
}

TEST_F(LazyStreams, MemoryThatAnotherThreadGivesBackIsNotUsed) {
  std::int32_t* const to = cells(16);
  auto* const data = static_cast<std::int32_t*>(memory().allocate(64));
  memory().clear(data, 64);
  simt::launch({}, 16, 0, CopyCells{data, to});
  std::thread([&] { memory().deallocate(data, 64); }).join();
  EXPECT_THAT(failure_of([] { testing::emulation::wait_for_stream(); }),
              AllOf(HasSubstr("CopyCells"), HasSubstr("is not allocated")));
}

TEST_F(LazyStreams, AFailureInWorkThatMemoryWaitsForIsNotLost) {
  std::int32_t* const to = cells(16);
  simt::launch({}, 16, 0, CopyCells{cells(16), to});
  memory().deallocate(memory().allocate(64), 64);
  EXPECT_THAT(failure_of([] { testing::emulation::wait_for_stream(); }), HasSubstr("which nothing has written"));
  EXPECT_EQ(failure_of([] { testing::emulation::wait_for_stream(); }), "no failure");
}

TEST_F(WatchedMemory, ACaptureDoesNotSurviveMemoryThatIsGivenBack) {
  void* const data = memory().allocate(64);
  testing::emulation::begin_capture();
  memory().deallocate(data, 64);
  EXPECT_THAT(failure_of([] { testing::emulation::end_capture(); }),
              HasSubstr("giving memory back while a step is recorded"));
}

}  // namespace
}  // namespace dragoman::backend::cuda

#include "access.h"
#include "emulated_backend.h"
#include "simt.h"
#include "watch.h"

#include <array>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/ops/kernels.h>

// The emulation itself: that it runs kernels as CUDA does, and that it finds what a GPU would leave undefined.
namespace dragoman::backend::cuda {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using testing::emulation::Order;

/// The message of what a launch of the kernel throws.
template <class Kernel>
std::string failure_of(const Kernel& kernel, int threads, std::size_t shared = 0, simt::Grid grid = {}) {
  try {
    simt::launch(grid, threads, shared, kernel);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no failure";
}

class InOrder : public ::testing::TestWithParam<Order> {
 protected:
  void SetUp() override { testing::emulation::set_order(GetParam(), 3); }
  void TearDown() override { testing::emulation::set_order(Order::kForward); }

  testing::emulation::HostMemoryAllowed host_memory_;  // of the kernels here
};
INSTANTIATE_TEST_SUITE_P(
    Orders, InOrder, ::testing::Values(Order::kForward, Order::kBackward, Order::kShuffled), [](const auto& order) {
      return std::string(std::array{"forward", "backward", "shuffled"}[static_cast<std::size_t>(order.param)]);
    });

struct WriteIndex {
  std::int64_t* places;
  void operator()() const {
    const std::int64_t block = simt::block_index_y() * simt::block_count() + simt::block_index();
    places[block * simt::thread_count() + simt::thread_index()] += block * 1000 + simt::thread_index();
  }
};
TEST_P(InOrder, EachThreadOfEachBlockRunsOnce) {
  std::vector<std::int64_t> places(6 * 70);
  simt::launch({3, 2}, 70, 0, WriteIndex{places.data()});
  for (std::size_t i = 0; i < places.size(); ++i)
    EXPECT_EQ(places[i], static_cast<std::int64_t>(i / 70 * 1000 + i % 70));
}

/// Sums by halving, as textbooks have it.
struct SumByHalves {
  const int* numbers;
  int* sum;
  void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<int>(256);
    const int thread = simt::thread_index();
    cells[thread] = numbers[thread];
    simt::barrier();
    for (int half = 128; half > 0; half /= 2) {
      if (thread < half) cells[thread] = cells[thread] + cells[thread + half];
      simt::barrier();
    }
    if (thread == 0) *sum = cells[0];
  }
};
TEST_P(InOrder, ThreadsMeetAtBarriers) {
  std::vector<int> numbers(256);
  std::iota(numbers.begin(), numbers.end(), 1);
  int sum = 0;
  simt::launch({1}, 256, 1024, SumByHalves{numbers.data(), &sum});
  EXPECT_EQ(sum, 256 * 257 / 2);
}

struct ReduceWarps {
  double* sums;
  void operator()() const {
    double value = simt::thread_index();
    for (int mask = 16; mask > 0; mask /= 2) value += simt::shuffle_xor(value, mask);
    sums[simt::thread_index()] = value + simt::shuffle(static_cast<double>(simt::thread_index()), 5) / 1000;
  }
};
TEST_P(InOrder, LanesOfAWarpExchangeValues) {
  std::vector<double> sums(64);
  simt::launch({1}, 64, 0, ReduceWarps{sums.data()});
  EXPECT_THAT(std::vector(sums.begin(), sums.begin() + 32), Each(31 * 16 + 0.005));
  EXPECT_THAT(std::vector(sums.begin() + 32, sums.end()), Each(31 * 16 + 32 * 32 + 0.037));
}

struct ReadUnwritten {
  void operator()() const {
    simt::SharedMemory memory;
    static_cast<void>(static_cast<int>(memory.take<int>(4)[1]));
  }
};
struct ReadOfAnother {
  void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<int>(64);
    cells[simt::thread_index()] = 1;
    static_cast<void>(static_cast<int>(cells[simt::thread_index() / 2]));
  }
};
struct WriteAfterRead {
  void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<int>(64);
    cells[simt::thread_index()] = 1;
    simt::barrier();
    static_cast<void>(static_cast<int>(cells[0]));
    if (simt::thread_index() == 63) cells[0] = 2;
  }
};
struct WriteOfTwo {
  void operator()() const {
    simt::SharedMemory memory;
    memory.take<int>(1)[0] = simt::thread_index();
  }
};
struct PastTheEnd {
  void operator()() const {
    simt::SharedMemory memory;
    memory.take<int>(64)[64] = 1;
  }
};
TEST_P(InOrder, MisuseOfSharedMemoryIsFound) {
  EXPECT_THAT(failure_of(ReadUnwritten{}, 1, 16), HasSubstr("which nobody has written"));
  EXPECT_THAT(failure_of(ReadOfAnother{}, 64, 256),
              ::testing::AnyOf(HasSubstr("has written since the last barrier"), HasSubstr("which nobody has written")));
  EXPECT_THAT(failure_of(WriteAfterRead{}, 64, 256),
              ::testing::AnyOf(HasSubstr("which another thread has read since the last barrier"),
                               HasSubstr("which thread 63 has written since the last barrier")));
  EXPECT_THAT(failure_of(WriteOfTwo{}, 2, 16), HasSubstr("since the last barrier"));
  EXPECT_THAT(failure_of(PastTheEnd{}, 1, 256), HasSubstr("writes shared memory at 256 of 256"));
}

/// Reads what a copy brings: at once, after waiting, or when others have waited as well.
struct CopyAndRead {
  const int* numbers;
  int waits;
  int* sums;
  void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<int>(128);
    const int thread = simt::thread_index();
    simt::copy_async(cells, 4 * thread, numbers + 4 * thread);
    simt::commit_copies();
    if (waits > 0) simt::wait_for_copies<0>();
    if (waits > 1) simt::barrier();
    const int other = waits > 1 ? 4 * (31 - thread) : 4 * thread;
    sums[thread] = cells[other] + cells[other + 3];
  }
};
struct CopyFromOddPlace {
  const int* numbers;
  void operator()() const {
    simt::SharedMemory memory;
    simt::copy_async(memory.take<int>(8), 0, numbers + 1);
  }
};
struct CopyQuad {
  const float* from;
  float* to;
  void operator()() const { simt::store_vector(to, simt::load_vector<4>(from)); }
};
/// Waits for the first of two groups.
struct CopyTwice {
  const int* numbers;
  int first;
  int* sum;
  void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<int>(8);
    for (int i = 0; i < 2; ++i) {
      simt::copy_async(cells, 4 * i, numbers + 4 * i);
      simt::commit_copies();
    }
    simt::wait_for_copies<1>();
    *sum = cells[first];
  }
};
TEST_P(InOrder, QuadsHaveAddressesOfMultiplesOf16Bytes) {
  alignas(16) std::array<float, 8> values{0, 1, 2, 3};
  EXPECT_EQ(failure_of(CopyQuad{values.data(), values.data() + 4}, 1, 0), "no failure");
  EXPECT_THAT(values, ::testing::ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_THAT(failure_of(CopyQuad{values.data() + 1, values.data()}, 1, 0), HasSubstr("no multiple of its bytes"));
  EXPECT_THAT(failure_of(CopyQuad{values.data(), values.data() + 2}, 1, 0), HasSubstr("no multiple of its bytes"));
}
TEST_P(InOrder, CopiesAreThereWhenTheyHaveBeenWaitedFor) {
  alignas(16) std::array<int, 128> numbers{};
  std::iota(numbers.begin(), numbers.end(), 0);
  std::array<int, 32> sums{};
  EXPECT_THAT(failure_of(CopyAndRead{numbers.data(), 0, sums.data()}, 32, 512), HasSubstr("a copy is under way"));
  EXPECT_EQ(failure_of(CopyAndRead{numbers.data(), 1, sums.data()}, 32, 512), "no failure");
  EXPECT_EQ(sums[3], 12 + 15);
  EXPECT_EQ(failure_of(CopyAndRead{numbers.data(), 2, sums.data()}, 32, 512), "no failure");
  EXPECT_EQ(sums[3], 112 + 115);
  EXPECT_THAT(failure_of(CopyFromOddPlace{numbers.data()}, 1, 32), HasSubstr("copies 16 bytes from or to an address"));
  int sum = 0;
  EXPECT_EQ(failure_of(CopyTwice{numbers.data(), 3, &sum}, 1, 32), "no failure");
  EXPECT_EQ(sum, 3);
  EXPECT_THAT(failure_of(CopyTwice{numbers.data(), 4, &sum}, 1, 32), HasSubstr("a copy is under way"));
}

struct BarrierOfSome {
  void operator()() const {
    if (simt::thread_index() < 40) simt::barrier();
  }
};
struct ShuffleOfSome {
  void operator()() const {
    if (simt::thread_index() != 7) static_cast<void>(simt::shuffle(1, 0));
  }
};
TEST_P(InOrder, WhatSomeThreadsNeverReachIsFound) {
  EXPECT_THAT(failure_of(BarrierOfSome{}, 64), HasSubstr("barrier"));
  EXPECT_THAT(failure_of(ShuffleOfSome{}, 64), HasSubstr("in a shuffle that not all of their warp reach"));
}

/// Threads of one block, or of one warp, come to different places.
struct BarriersAtTwoPlaces {
  void operator()() const {
    if (simt::thread_index() < 32)
      simt::barrier();
    else
      simt::barrier();
  }
};
struct ShufflesAtTwoPlaces {
  void operator()() const {
    if (simt::thread_index() % 2 == 0)
      static_cast<void>(simt::shuffle(1, 0));
    else
      static_cast<void>(simt::shuffle_xor(2, 1));
  }
};
struct BallotBesideShuffle {
  void operator()() const {
    if (simt::thread_index() == 5)
      static_cast<void>(simt::ballot(true));
    else
      static_cast<void>(simt::shuffle(1, 0));
  }
};
/// The shuffle is the same, and its callers are not.
struct ReductionsAtTwoPlaces {
  void operator()() const {
    if (simt::thread_index() % 2 == 0)
      static_cast<void>(device::reduce_warp(1.0F, device::Sum()));
    else
      static_cast<void>(device::reduce_warp(2.0F, device::Sum()));
  }
};
struct BlockReductionsAtTwoPlaces {
  void operator()() const {
    simt::SharedMemory memory;
    const auto cells = memory.take<float>(device::kWarps);
    const auto others = memory.take<float>(device::kWarps);
    if (simt::thread_index() < 128)
      static_cast<void>(device::reduce_block(1.0F, device::Sum(), cells));
    else
      static_cast<void>(device::reduce_block(1.0F, device::Sum(), others));
  }
};
TEST_P(InOrder, ThreadsMeetAtOnePlaceOfTheSource) {
  const auto at_two_places = [](const char* what) {
    return ::testing::ContainsRegex(
        std::string(what) + " at emulation_test.cpp:[0-9]+.*, though thread [0-9]+ waits at emulation_test.cpp:");
  };
  EXPECT_THAT(failure_of(BarriersAtTwoPlaces{}, 64), at_two_places("a barrier"));
  EXPECT_THAT(failure_of(ShufflesAtTwoPlaces{}, 32), at_two_places("a shuffle"));
  EXPECT_THAT(failure_of(BallotBesideShuffle{}, 32), at_two_places("a shuffle"));
  EXPECT_THAT(failure_of(ReductionsAtTwoPlaces{}, 32), at_two_places("a shuffle"));
  EXPECT_THAT(failure_of(BlockReductionsAtTwoPlaces{}, 256, 64), at_two_places("a barrier"));
}

TEST(Emulation, ALaunchThatNoDeviceWouldTakeIsRefused) {
  EXPECT_THAT(failure_of(BarrierOfSome{}, 1025), HasSubstr("1025 threads"));
  EXPECT_THAT(failure_of(BarrierOfSome{}, 32, 101'377), HasSubstr("101377 bytes of shared memory"));
  EXPECT_THAT(failure_of(WriteIndex{nullptr}, 1, 0, {1, 65'536}), HasSubstr("1 by 65536 blocks"));
}

/// The host code of a kernel may not look into the device's memory: it is closed but while blocks run.
TEST(EmulationDeathTest, MemoryIsOpenWhileBlocksRunOnly) {
  const testing::EmulatedCuda backend;
  auto* const numbers = static_cast<int*>(backend.memory(0).allocate(4096));
  std::vector<int> host(1024, 1);
  backend.memory(0).copy_in(numbers, host.data(), 4096);
  int sum = 0;
  simt::launch({1}, 256, 1024, SumByHalves{numbers, &sum});
  EXPECT_EQ(sum, 256);
  EXPECT_DEATH(*static_cast<volatile int*>(numbers) = 1, "");
  backend.memory(0).deallocate(numbers, 4096);
}

/// Every op runs on the device: by a kernel of its own, or, of those that may be left out, by others.
TEST(CudaBackend, HasAKernelForEachOp) {
  tensor::KernelTable table(tensor::Device::of("cuda"));
  install_kernels(table);
  ops::for_each_key(ops::kKernels, [&](auto key) { EXPECT_NE(table.find(key), nullptr) << key.name; });
}

}  // namespace
}  // namespace dragoman::backend::cuda

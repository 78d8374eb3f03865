#pragma once

#include "cuda_backend_for_tests.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// How CUDA runs a kernel, on a machine without a GPU: one block after the other; the threads of a block are fibers of
/// one thread of the host, which take turns at barriers and shuffles, in an order that a test may choose. What a GPU
/// leaves undefined is an error here, with the place: a barrier or shuffle that some threads never reach; an element of
/// shared memory that is read before anybody wrote it, or that two threads use, one of them writing, without a barrier
/// between; memory that is not there.
namespace dragoman::testing::emulation {

inline constexpr int kWarp = 32;
inline constexpr int kMaxThreads = 1024;                          ///< of a block
inline constexpr std::size_t kMaxShared = std::size_t{99} << 10;  ///< bytes of a block, on the smallest of devices

struct Place {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t count = 1;  ///< of blocks along x
};

/// What a lane gives to the others of its warp.
using Deposit = std::array<std::uint32_t, 6>;

class Fiber;

/// The block that runs.
class Block {
 public:
  /// Of the calling fiber.
  static Block& current() noexcept;

  int thread() const noexcept { return thread_; }
  int threads() const noexcept { return threads_; }
  const Place& place() const noexcept { return place_; }

  /// Throws, with the place.
  [[noreturn]] void fail(const std::string& what) const;

  void barrier();
  /// What the lanes of the calling thread's warp gave in the same call, until the next but one.
  const Deposit* exchange(const Deposit& own);
  int lanes() const noexcept { return lanes_of(thread_ / kWarp); }  ///< of the calling thread's warp
  void read_shared(std::size_t offset, void* value, std::size_t bytes);
  void write_shared(std::size_t offset, const void* value, std::size_t bytes);
  /// Begins a copy, which is done when the thread has waited for it; what is there meanwhile nobody may read.
  void copy_async(std::size_t offset, const void* from, std::size_t bytes);
  /// All copies since the last call are a group.
  void commit_copies();
  /// Waits for all groups but the last `left` of the calling thread.
  void wait_for_copies(int left);

  Block(int threads, std::size_t shared, void (*kernel)(const void*), const void* copy);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();
  /// Runs all threads to their end; std::runtime_error for what is wrong with them.
  void run(const Place& place, const std::vector<int>& order);

 private:
  friend class Fiber;
  enum class State : std::uint8_t { kReady, kAtBarrier, kAtExchange, kDone };
  struct Warp {
    std::array<std::array<Deposit, kWarp>, 2> deposits{};  ///< of this exchange and the one before
    int arrived = 0;
    std::uint64_t exchanges = 0;
  };
  struct Cell {
    std::int32_t writer = -1;   ///< of the last write; -1: nobody yet
    std::uint32_t written = 0;  ///< the barriers before it, plus 1
    std::int32_t reader = -1;   ///< of the last reads; kSeveral
    std::uint32_t read = 0;
    bool copied = false;  ///< a copy is under way
  };
  struct Copy {
    std::size_t offset = 0;
    const void* from = nullptr;
    std::size_t bytes = 0;
  };
  using CopyGroup = std::vector<Copy>;
  static constexpr std::int32_t kSeveral = -2;

  void wait();
  int lanes_of(int warp) const noexcept;
  void release_barrier();
  void run_thread(int thread);

  int threads_;
  void (*kernel_)(const void*);
  const void* copy_;
  Place place_;
  int thread_ = 0;
  std::uint32_t epoch_ = 1;
  int at_barrier_ = 0;
  int done_ = 0;
  std::vector<State> states_;
  std::vector<Warp> warps_;
  std::vector<std::byte> shared_;
  std::vector<Cell> cells_;                    ///< of each 4 bytes
  std::vector<std::deque<CopyGroup>> copies_;  ///< of each thread; the last group is not committed yet
  std::exception_ptr error_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
};

struct Extent {
  std::int64_t x = 1;
  std::int64_t y = 1;
};

/// Runs kernel(copy) in all threads of all blocks; `bytes`: of the copy.
void run_blocks(Extent grid, int threads, std::size_t shared, void (*kernel)(const void*), const void* copy,
                std::size_t bytes);

/// A launch that was kept instead of run.
struct KeptLaunch {
  Extent grid;
  int threads;
  std::size_t shared;
  void (*kernel)(const void*);
  std::vector<std::byte> copy;
  void run() const { run_blocks(grid, threads, shared, kernel, copy.data(), copy.size()); }
};
/// From now on what the calling thread launches is kept, and not run.
void begin_capture();
std::vector<KeptLaunch> end_capture();
bool capturing() noexcept;
/// Throws while the calling thread's launches are kept: on a GPU it would end the capture.
void require_no_capture(const char* what);

/// How many kernels the calling thread has launched.
std::uint64_t launches() noexcept;
/// Those among them whose function's name has `kernel` in it.
std::uint64_t launches(std::string_view kernel);
/// `function`: the launching function as the compiler spells it, which names the kernel. A literal.
void name_kernel(void (*kernel)(const void*), const char* function);

/// What the calling thread launches from now on runs on the device of this number.
void use_device(int number) noexcept;
int used_device() noexcept;

/// Opens memory that is closed at rest: for every launch of the program on the device, as long as the object lives.
class MemoryGate {
 public:
  MemoryGate(int device, std::function<void()> open, std::function<void()> close);
  MemoryGate(const MemoryGate&) = delete;
  MemoryGate& operator=(const MemoryGate&) = delete;
  ~MemoryGate();

 private:
  friend class OpenGates;
  int device_;
  std::function<void()> open_;
  std::function<void()> close_;
};

}  // namespace dragoman::testing::emulation

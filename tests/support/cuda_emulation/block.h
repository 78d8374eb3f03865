#pragma once

#include "site.h"

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

/// Runs kernels as CUDA does, on a machine without a GPU. The threads of a block are fibers of one host thread, which
/// take turns at barriers and shuffles, in an order that a test may choose. Several blocks may run at a time. Behaviour
/// that is undefined on a GPU is an error here, which names the kernel and the place:
///
/// - a barrier or shuffle that some threads never reach, or that threads reach at different places of the source;
/// - an element of shared memory that is read before it is written, or that two threads use without a barrier between,
///   at least one of them writing;
/// - bytes of device memory that are read before they are written, or that are not allocated (watch.h);
/// - memory of the host that a kernel reads or writes;
/// - bytes of device memory that two threads use in one launch without a barrier of their block between, at least one
///   of them writing (races.h).
namespace dragoman::testing::emulation {

inline constexpr int kWarp = 32;
inline constexpr int kMaxThreads = 1024;                          ///< of a block
inline constexpr std::size_t kMaxShared = std::size_t{99} << 10;  ///< bytes of a block on the smallest device

struct Place {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t count = 1;  ///< number of blocks along x
  std::uint32_t run = 0;   ///< the number of the block among all of the program (races.h)
};

/// The values that a lane passes to the other lanes of its warp.
using Deposit = std::array<std::uint32_t, 6>;

class Fiber;

/// The running block.
class Block {
 public:
  /// Returns the block of the calling fiber.
  static Block& current() noexcept { return *running(); }
  /// Returns nullptr outside of kernels.
  static Block* running() noexcept;

  int thread() const noexcept { return thread_; }
  /// Returns the number of barriers that the block has passed, plus 1.
  std::uint32_t epoch() const noexcept { return epoch_; }
  int threads() const noexcept { return threads_; }
  const Place& place() const noexcept { return place_; }

  /// Throws an error with the kernel and the place.
  [[noreturn]] void fail(const std::string& what) const;
  /// The same for code that must not throw: the thread continues, and the launch fails when the thread waits or ends.
  /// If no block runs, the program ends.
  static void report(const std::string& what) noexcept;
  /// Ends the program with such an error.
  [[noreturn]] static void end_program(const std::string& what) noexcept;
  /// Returns whether kernels may read the bytes because functions of simt.h read them: the block and its shuffles.
  bool owns(const void* data, std::size_t bytes) const noexcept;

  void barrier(const Site& site);
  /// Returns the values that the lanes of the calling thread's warp passed in the same call. Valid until the call after
  /// the next.
  const Deposit* exchange(const Deposit& own, const Site& site);
  int lanes() const noexcept { return lanes_of(thread_ / kWarp); }  ///< of the calling thread's warp
  void read_shared(std::size_t offset, void* value, std::size_t bytes);
  void write_shared(std::size_t offset, const void* value, std::size_t bytes);
  /// Begins a copy, which is complete when the thread has waited for it. Meanwhile, reading the destination is an
  /// error.
  void copy_async(std::size_t offset, const void* from, std::size_t bytes);
  /// Makes a group of all copies since the last call.
  void commit_copies();
  /// Waits for all groups of the calling thread except the last `left`.
  void wait_for_copies(int left);

  /// The kernel's copy has `bytes` bytes.
  Block(int threads, std::size_t shared, void (*kernel)(const void*), const void* copy, std::size_t bytes);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();
  /// Begins the block at this place; its threads take turns in this order. The previous block must have ended.
  void begin(const Place& place, const std::vector<int>& order);
  /// Runs up to `most` threads until they wait or end. Returns false when all have ended. Throws std::runtime_error for
  /// an error of the threads.
  bool turn(int most);

 private:
  friend class Fiber;
  enum class State : std::uint8_t { kReady, kAtBarrier, kAtExchange, kDone };
  struct Warp {
    std::array<std::array<Deposit, kWarp>, 2> deposits{};  ///< of this exchange and of the previous one
    int arrived = 0;
    Site site;      ///< the place where the first lane of this exchange arrived
    int first = 0;  ///< the thread of that lane
    std::uint64_t exchanges = 0;
  };
  struct Cell {
    std::int32_t writer = -1;   ///< of the last write; -1: none yet
    std::uint32_t written = 0;  ///< the number of barriers before it, plus 1
    std::int32_t reader = -1;   ///< of the last reads, or kSeveral
    std::uint32_t read = 0;
    bool copied = false;  ///< a copy is in progress
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
  std::deque<CopyGroup>& copies_of_thread();
  void require_same_site(const char* what, const Site& site, const Site& others, int other) const;
  std::string describe(const std::string& what) const;

  int threads_;
  void (*kernel_)(const void*);
  const void* copy_;
  std::size_t copy_bytes_;
  Place place_;
  std::vector<int> order_;
  std::size_t next_ = 0;  ///< index into order_
  int thread_ = 0;
  std::uint32_t epoch_ = 1;
  int at_barrier_ = 0;
  Site barrier_site_;      ///< the place where the first thread of this barrier arrived
  int barrier_first_ = 0;  ///< that thread
  int done_ = 0;
  std::vector<State> states_;
  std::vector<Warp> warps_;
  std::vector<std::byte> shared_;
  std::vector<Cell> cells_;  ///< one per 4 bytes
  /// Per thread. The last group is not committed yet. Empty until a thread copies.
  std::vector<std::deque<CopyGroup>> copies_;
  std::exception_ptr error_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
};

/// Creates the objects that the calling thread needs to run blocks.
void prepare_blocks();
/// Throws if no device has room for such blocks.
void require_block(int threads, std::size_t shared);

}  // namespace dragoman::testing::emulation

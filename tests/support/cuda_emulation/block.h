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

/// How CUDA runs a kernel, on a machine without a GPU. The threads of a block are fibers of one thread of the host,
/// which take turns at barriers and shuffles, in an order that a test may choose. Several blocks may be under way at a
/// time. What a GPU leaves undefined is an error here, with the kernel and the place:
///
///  - a barrier or shuffle that some threads never reach, or that threads reach at different places of the source;
///  - an element of shared memory that is read before it is written, or that two threads use, one of them writing,
///    without a barrier between;
///  - bytes of the device's memory that are read before they are written, or that are not allocated (watch.h);
///  - bytes of the device's memory that two threads use in one launch, one of them writing, without a barrier of their
///    block between (races.h).
namespace dragoman::testing::emulation {

inline constexpr int kWarp = 32;
inline constexpr int kMaxThreads = 1024;                          ///< of a block
inline constexpr std::size_t kMaxShared = std::size_t{99} << 10;  ///< bytes of a block, on the smallest of devices

struct Place {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t count = 1;  ///< of blocks along x
  std::uint32_t run = 0;   ///< the block's number among all of the program (races.h)
};

/// What a lane gives to the others of its warp.
using Deposit = std::array<std::uint32_t, 6>;

class Fiber;

/// The block that runs.
class Block {
 public:
  /// Of the calling fiber.
  static Block& current() noexcept { return *running(); }
  /// nullptr outside of kernels.
  static Block* running() noexcept;

  int thread() const noexcept { return thread_; }
  /// The number of barriers that the block has passed, plus 1.
  std::uint32_t epoch() const noexcept { return epoch_; }
  int threads() const noexcept { return threads_; }
  const Place& place() const noexcept { return place_; }

  /// Throws, with the kernel and the place.
  [[noreturn]] void fail(const std::string& what) const;
  /// The same for code that exceptions cannot leave: the thread goes on, and the launch fails when it waits or ends.
  /// Where no block runs, the program ends.
  static void report(const std::string& what) noexcept;

  void barrier(const Site& site);
  /// What the lanes of the calling thread's warp gave in the same call, until the next but one.
  const Deposit* exchange(const Deposit& own, const Site& site);
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
  /// Begins the block of this place, whose threads take turns in this order. The last one has ended.
  void begin(const Place& place, const std::vector<int>& order);
  /// Lets up to so many threads run until they wait or end. Returns false once all have ended. std::runtime_error for
  /// what is wrong with them.
  bool turn(int most);

 private:
  friend class Fiber;
  enum class State : std::uint8_t { kReady, kAtBarrier, kAtExchange, kDone };
  struct Warp {
    std::array<std::array<Deposit, kWarp>, 2> deposits{};  ///< of this exchange and the one before
    int arrived = 0;
    Site site;      ///< where the first lane of this exchange has arrived
    int first = 0;  ///< that lane's thread
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
  std::deque<CopyGroup>& copies_of_thread();
  void require_same_site(const char* what, const Site& site, const Site& others, int other) const;
  std::string describe(const std::string& what) const;

  int threads_;
  void (*kernel_)(const void*);
  const void* copy_;
  Place place_;
  std::vector<int> order_;
  std::size_t next_ = 0;  ///< of order_
  int thread_ = 0;
  std::uint32_t epoch_ = 1;
  int at_barrier_ = 0;
  Site barrier_site_;      ///< where the first thread of this barrier has arrived
  int barrier_first_ = 0;  ///< that thread
  int done_ = 0;
  std::vector<State> states_;
  std::vector<Warp> warps_;
  std::vector<std::byte> shared_;
  std::vector<Cell> cells_;  ///< of each 4 bytes
  /// Of each thread; the last group is not committed yet. Empty until a thread copies.
  std::vector<std::deque<CopyGroup>> copies_;
  std::exception_ptr error_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
};

/// Makes what the calling thread needs to run blocks.
void prepare_blocks();
/// Throws if no device has room for such blocks.
void require_block(int threads, std::size_t shared);

}  // namespace dragoman::testing::emulation

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// How CUDA runs a kernel, on a machine without a GPU: one block after the other; the threads of a block are fibers of
/// one thread of the host, which take turns at barriers and shuffles, in an order that a test may choose. What a GPU
/// leaves undefined is an error here, with the place: a barrier or shuffle that some threads never reach; an element of
/// shared memory that is read before anybody wrote it, or that two threads use, one of them writing, without a barrier
/// between; memory that is not there.
namespace dragoman::testing::emulation {

inline constexpr int kWarp = 32;
inline constexpr int kMostThreads = 1024;                          ///< of a block
inline constexpr std::size_t kMostShared = std::size_t{48} << 10;  ///< bytes of a block, without asking for more

/// In which order blocks run and threads take turns between barriers. Nothing may depend on it.
enum class Order { kForward, kBackward, kShuffled };

/// Of the launches that the calling thread makes from now on. Every launch shuffles anew, by `seed`.
void set_order(Order order, std::uint64_t seed = 0);

struct Place {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t count = 1;  ///< of blocks along x
};

class Fiber;

/// The block that runs.
class Block {
 public:
  /// Of the calling fiber.
  static Block& current() noexcept;

  int thread() const noexcept { return thread_; }
  int threads() const noexcept { return threads_; }
  const Place& place() const noexcept { return place_; }

  void barrier();
  /// The bits that lane `from` of the calling thread's warp gave in the same call.
  std::uint64_t exchange(std::uint64_t bits, int from);
  void read_shared(std::size_t offset, void* value, std::size_t bytes);
  void write_shared(std::size_t offset, const void* value, std::size_t bytes);

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
    std::array<std::uint64_t, 2 * kWarp> bits{};  ///< of this exchange and the one before
    int arrived = 0;
    std::uint64_t exchanges = 0;
  };
  struct Cell {
    std::int32_t writer = -1;   ///< of the last write; -1: nobody yet
    std::uint32_t written = 0;  ///< the barriers before it, plus 1
    std::int32_t reader = -1;   ///< of the last reads; kSeveral
    std::uint32_t read = 0;
  };
  static constexpr std::int32_t kSeveral = -2;

  void wait();
  int lanes_of(int warp) const noexcept;
  void release_barrier();
  [[noreturn]] void report(const std::string& what) const;
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
  std::vector<Cell> cells_;  ///< of each 4 bytes
  std::exception_ptr error_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
};

struct Extent {
  std::int64_t x = 1;
  std::int64_t y = 1;
};

/// Runs kernel(copy) in all threads of all blocks.
void run_blocks(Extent grid, int threads, std::size_t shared, void (*kernel)(const void*), const void* copy);

/// How many kernels the calling thread has launched.
std::uint64_t launches() noexcept;

/// Opens memory that is closed at rest: for every launch of the program as long as the object lives.
class MemoryGate {
 public:
  MemoryGate(std::function<void()> open, std::function<void()> close);
  MemoryGate(const MemoryGate&) = delete;
  MemoryGate& operator=(const MemoryGate&) = delete;
  ~MemoryGate();

 private:
  friend class OpenGates;
  std::function<void()> open_;
  std::function<void()> close_;
};

}  // namespace dragoman::testing::emulation

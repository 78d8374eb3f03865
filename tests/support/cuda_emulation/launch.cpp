#include "launch.h"

#include "block.h"
#include "costs.h"
#include "races.h"
#include "steps/kernel_name.h"
#include "watch.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace dragoman::testing::emulation {
namespace {

/// The number of blocks that run at a time if they are mixed.
constexpr std::size_t kMixedBlocks = 4;
/// The maximum number of threads that a block runs before another block's turn.
constexpr std::size_t kMaxTurn = 48;

struct Settings {
  Order order = Order::kForward;
  std::uint64_t seed = 0;
  std::mt19937_64 random{0};
  std::uint64_t launches = 0;
  struct Kernel {
    std::string_view function;
    std::uint64_t launches = 0;
    KernelCost costs;
  };
  std::map<void (*)(const void*), Kernel> kernels;
};
Settings& settings() {
  thread_local Settings of_thread;
  return of_thread;
}

thread_local int device_in_use = 0;

struct Gates {
  std::mutex mutex;
  std::vector<const MemoryGate*> all;
};
Gates& gates() {
  static Gates of_program;
  return of_program;
}

/// A launch, with a copy of its kernel.
struct KeptLaunch {
  Extent grid;
  int threads;
  std::size_t shared;
  void (*kernel)(const void*);
  std::vector<std::byte> copy;
  int device;
};

/// Adds a launch to the costs of its kernel, if costs are counted.
class CountedLaunch {
 public:
  CountedLaunch(KernelCost& cost, const KeptLaunch& launch) : cost_(cost), launch_(launch) {}
  CountedLaunch(const CountedLaunch&) = delete;
  CountedLaunch& operator=(const CountedLaunch&) = delete;
  ~CountedLaunch() {
    if (!counts_costs) return;
    const auto blocks = static_cast<std::uint64_t>(launch_.grid.x * launch_.grid.y);
    ++cost_.launches;
    cost_.blocks += blocks;
    cost_.threads += blocks * static_cast<std::uint64_t>(launch_.threads);
    cost_.loaded += std::exchange(bytes_loaded, 0);
    cost_.stored += std::exchange(bytes_stored, 0);
  }

 private:
  KernelCost& cost_;
  const KeptLaunch& launch_;
};

void run_one_after_the_other(const KeptLaunch& launch, const std::vector<int>& blocks, const std::vector<int>& threads,
                             const LaunchRaces& races) {
  Block block(launch.threads, launch.shared, launch.kernel, launch.copy.data(), launch.copy.size());
  for (const int i : blocks) {
    block.begin({i % launch.grid.x, i / launch.grid.x, launch.grid.x, races.run_of(i)}, threads);
    while (block.turn(launch.threads)) continue;
  }
}

/// Draws at random which block has the next turn, and for how long.
void run_mixed(const KeptLaunch& launch, const std::vector<int>& blocks, const LaunchRaces& races) {
  std::vector<std::unique_ptr<Block>> under_way;
  std::vector<std::unique_ptr<Block>> ended;
  std::size_t next = 0;
  while (next < blocks.size() || !under_way.empty()) {
    if (next < blocks.size() && under_way.size() < kMixedBlocks) {
      if (ended.empty())
        ended.push_back(std::make_unique<Block>(launch.threads, launch.shared, launch.kernel, launch.copy.data(),
                                                launch.copy.size()));
      under_way.push_back(std::move(ended.back()));
      ended.pop_back();
      const int i = blocks[next++];
      under_way.back()->begin({i % launch.grid.x, i / launch.grid.x, launch.grid.x, races.run_of(i)},
                              ordered(launch.threads));
      continue;
    }
    auto& block = under_way[draw(under_way.size())];
    if (block->turn(static_cast<int>(1 + draw(kMaxTurn)))) continue;
    std::swap(block, under_way.back());
    ended.push_back(std::move(under_way.back()));
    under_way.pop_back();
  }
}

}  // namespace

void set_order(Order order, std::uint64_t seed) {
  settings().order = order;
  settings().seed = seed;
  settings().random.seed(seed);
}

bool shuffles() noexcept {
  return settings().order == Order::kShuffled;
}

std::string describe_order() {
  return shuffles() ? fmt::format(" (blocks and threads are mixed by seed {})", settings().seed) : std::string();
}

std::size_t draw(std::size_t bound) {
  return settings().random() % bound;
}

std::vector<int> ordered(int count) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  if (settings().order == Order::kBackward) std::reverse(order.begin(), order.end());
  if (shuffles()) std::shuffle(order.begin(), order.end(), settings().random);
  return order;
}

std::uint64_t launches() noexcept {
  return settings().launches;
}

std::uint64_t launches(std::string_view kernel) {
  std::uint64_t count = 0;
  for (const auto& [address, each] : settings().kernels)
    if (each.function.find(kernel) != std::string_view::npos) count += each.launches;
  return count;
}
void name_kernel(void (*kernel)(const void*), const char* function) {
  settings().kernels[kernel].function = function;
}
std::string name_of_kernel(void (*kernel)(const void*)) {
  return backend::cuda::kernel_name(settings().kernels[kernel].function);
}

thread_local std::uint64_t bytes_loaded = 0;
thread_local std::uint64_t bytes_stored = 0;
std::atomic<bool> counts_costs = false;

void set_counted_costs(bool counted) noexcept {
  counts_costs = counted;
  update_watched_accesses();
}
std::map<std::string, KernelCost> take_costs() {
  std::map<std::string, KernelCost> costs;
  for (auto& [address, kernel] : settings().kernels)
    if (const KernelCost cost = std::exchange(kernel.costs, {}); cost.launches > 0)
      costs[backend::cuda::kernel_name(kernel.function)] = cost;
  return costs;
}

void prepare_launches() {
  prepare_blocks();
  static_cast<void>(settings());
}

void use_device(int number) noexcept {
  device_in_use = number;
}
int used_device() noexcept {
  return device_in_use;
}

MemoryGate::MemoryGate(int device, std::function<void()> open, std::function<void()> close)
    : device_(device), open_(std::move(open)), close_(std::move(close)) {
  const std::lock_guard lock(gates().mutex);
  gates().all.push_back(this);
}
MemoryGate::~MemoryGate() {
  const std::lock_guard lock(gates().mutex);
  std::erase(gates().all, this);
}

/// The gates of the device that exist when a launch begins.
class OpenGates {
 public:
  explicit OpenGates(int device) {
    const std::lock_guard lock(gates().mutex);
    for (const MemoryGate* gate : gates().all)
      if (gate->device_ == device) opened_.push_back(gate);
    for (const MemoryGate* gate : opened_) gate->open_();
  }
  OpenGates(const OpenGates&) = delete;
  OpenGates& operator=(const OpenGates&) = delete;
  ~OpenGates() {
    for (const MemoryGate* gate : opened_) gate->close_();
  }

 private:
  std::vector<const MemoryGate*> opened_;
};

void launch(Extent grid, int threads, std::size_t shared, void (*kernel)(const void*), const void* copy,
            std::size_t bytes) {
  if (grid.x < 0 || grid.y < 0 || grid.x > 0x7FFFFFFF || grid.y > 65'535)
    throw std::runtime_error(fmt::format("a grid of {} by {} blocks", grid.x, grid.y));
  require_block(threads, shared);
  const auto* data = static_cast<const std::byte*>(copy);
  const auto run = [launch = KeptLaunch{grid, threads, shared, kernel, {data, data + bytes}, device_in_use}] {
    ++settings().launches;
    ++settings().kernels[launch.kernel].launches;
    const OpenGates gates_are_open(launch.device);
    const auto blocks = static_cast<int>(launch.grid.x * launch.grid.y);
    const LaunchRaces races(static_cast<std::uint32_t>(blocks));
    const CountedLaunch counted(settings().kernels[launch.kernel].costs, launch);
    if (shuffles() && blocks > 1)
      run_mixed(launch, ordered(blocks), races);
    else
      run_one_after_the_other(launch, ordered(blocks), ordered(launch.threads), races);
  };
  put(run);
}

}  // namespace dragoman::testing::emulation

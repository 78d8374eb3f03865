#include "block.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <boost/context/stack_context.hpp>
#include <fmt/format.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace dragoman::testing::emulation {
namespace {

constexpr std::size_t kStack = std::size_t{64} << 10;

struct Settings {
  Order order = Order::kForward;
  std::mt19937_64 random{0};
  std::uint64_t launches = 0;
  struct Kernel {
    std::string_view function;
    std::uint64_t launches = 0;
  };
  std::map<void (*)(const void*), Kernel> kernels;
};
Settings& settings() {
  thread_local Settings of_thread;
  return of_thread;
}

thread_local Block* running = nullptr;
thread_local std::vector<KeptLaunch> kept;
thread_local bool keeps = false;
thread_local int device_in_use = 0;

struct Gates {
  std::mutex mutex;
  std::vector<const MemoryGate*> all;
};
Gates& gates() {
  static Gates of_program;
  return of_program;
}

std::vector<std::int64_t> ordered(std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  if (settings().order == Order::kBackward) std::reverse(order.begin(), order.end());
  if (settings().order == Order::kShuffled) std::shuffle(order.begin(), order.end(), settings().random);
  return order;
}

}  // namespace

/// Unwinds a fiber that stands in the middle of a kernel.
struct Stopped {};

/// Runs one thread of one block after the other. Address sanitizer is told of each change of stacks.
class Fiber {
 public:
  Fiber()
      : stack_(std::make_unique<std::byte[]>(kStack)),
        fiber_(std::allocator_arg, boost::context::preallocated(stack_.get() + kStack, kStack, boost_stack()),
               OwnStack(), [this](boost::context::fiber&& host) { return work(std::move(host)); }) {}

  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() {
    stopping_ = true;
    if (block_ != nullptr) resume(*block_, thread_);
  }

  /// Lets it run until it waits or the thread has ended.
  void resume(Block& block, int thread) {
    block_ = &block;
    thread_ = thread;
#if defined(__SANITIZE_ADDRESS__)
    void* host_stack = nullptr;
    __sanitizer_start_switch_fiber(&host_stack, stack_.get(), kStack);
#endif
    fiber_ = std::move(fiber_).resume();
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(host_stack, nullptr, nullptr);
#endif
  }

  /// Back to whoever resumed it.
  void pause() {
#if defined(__SANITIZE_ADDRESS__)
    void* own_stack = nullptr;
    __sanitizer_start_switch_fiber(&own_stack, host_stack_, host_bytes_);
#endif
    host_ = std::move(host_).resume();
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(own_stack, &host_stack_, &host_bytes_);
#endif
    if (stopping_) throw Stopped();
  }

 private:
  /// The stack is a member, so nothing is to be done when boost gives it back.
  struct OwnStack {
    void deallocate(boost::context::stack_context&) const noexcept {}
  };
  boost::context::stack_context boost_stack() const {
    boost::context::stack_context context;
    context.sp = stack_.get() + kStack;
    context.size = kStack;
    return context;
  }

  boost::context::fiber work(boost::context::fiber&& host) {
    host_ = std::move(host);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &host_stack_, &host_bytes_);
#endif
    try {
      for (;;) {
        block_->run_thread(thread_);
        pause();
      }
    } catch (const Stopped&) {
    }
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(nullptr, host_stack_, host_bytes_);
#endif
    return std::move(host_);
  }

  std::unique_ptr<std::byte[]> stack_;
#if defined(__SANITIZE_ADDRESS__)
  const void* host_stack_ = nullptr;
  std::size_t host_bytes_ = 0;
#endif
  Block* block_ = nullptr;
  int thread_ = 0;
  bool stopping_ = false;
  boost::context::fiber host_;
  boost::context::fiber fiber_;  // last: it starts with what stands above
};

Block& Block::current() noexcept {
  return *running;
}

Block::Block(int threads, std::size_t shared, void (*kernel)(const void*), const void* copy)
    : threads_(threads),
      kernel_(kernel),
      copy_(copy),
      states_(static_cast<std::size_t>(threads)),
      warps_(static_cast<std::size_t>((threads + kWarp - 1) / kWarp)),
      shared_(shared),
      cells_((shared + 3) / 4),
      copies_(static_cast<std::size_t>(threads)) {
  if (threads < 1 || threads > kMaxThreads) throw std::runtime_error(fmt::format("a block of {} threads", threads));
  if (shared > kMaxShared) throw std::runtime_error(fmt::format("a block with {} bytes of shared memory", shared));
}

Block::~Block() = default;

int Block::lanes_of(int warp) const noexcept {
  return std::min(kWarp, threads_ - warp * kWarp);
}

void Block::fail(const std::string& what) const {
  throw std::runtime_error(fmt::format("block {}, {}, thread {}: {}", place_.x, place_.y, thread_, what));
}

void Block::run_thread(int thread) {
  try {
    kernel_(copy_);
  } catch (const Stopped&) {
    throw;
  } catch (...) {
    if (!error_) error_ = std::current_exception();
  }
  states_[static_cast<std::size_t>(thread)] = State::kDone;
  ++done_;
}

void Block::wait() {
  const int thread = thread_;
  fibers_[static_cast<std::size_t>(thread)]->pause();
}

void Block::release_barrier() {
  at_barrier_ = 0;
  ++epoch_;
  for (State& state : states_)
    if (state == State::kAtBarrier) state = State::kReady;
}

void Block::barrier() {
  if (done_ > 0) fail("a barrier, though another thread has ended");
  states_[static_cast<std::size_t>(thread_)] = State::kAtBarrier;
  if (++at_barrier_ == threads_) return release_barrier();
  wait();
}

const Deposit* Block::exchange(const Deposit& own) {
  const int number = thread_ / kWarp;
  Warp& warp = warps_[static_cast<std::size_t>(number)];
  auto& deposits = warp.deposits[static_cast<std::size_t>(warp.exchanges % 2)];
  deposits[static_cast<std::size_t>(thread_ % kWarp)] = own;
  const int lanes = lanes_of(number);
  if (++warp.arrived == lanes) {
    warp.arrived = 0;
    ++warp.exchanges;
    for (int lane = 0; lane < lanes; ++lane) states_[static_cast<std::size_t>(number * kWarp + lane)] = State::kReady;
  } else {
    states_[static_cast<std::size_t>(thread_)] = State::kAtExchange;
    wait();
  }
  return deposits.data();
}

void Block::copy_async(std::size_t offset, const void* from, std::size_t bytes) {
  if (offset % bytes != 0 || reinterpret_cast<std::uintptr_t>(from) % bytes != 0)
    fail(fmt::format("copies {} bytes from or to an address that is no multiple of that", bytes));
  std::vector<std::byte> nothing(bytes);
  write_shared(offset, nothing.data(), bytes);
  for (std::size_t i = offset / 4; i < (offset + bytes) / 4; ++i) cells_[i].copied = true;
  copies_[static_cast<std::size_t>(thread_)].back().push_back({offset, from, bytes});
}

void Block::commit_copies() {
  copies_[static_cast<std::size_t>(thread_)].emplace_back();
}

void Block::wait_for_copies(int left) {
  auto& groups = copies_[static_cast<std::size_t>(thread_)];
  for (; groups.size() > static_cast<std::size_t>(left) + 1; groups.pop_front())
    for (const Copy& copy : groups.front()) {
      for (std::size_t i = copy.offset / 4; i < (copy.offset + copy.bytes) / 4; ++i) cells_[i].copied = false;
      write_shared(copy.offset, copy.from, copy.bytes);
    }
}

void Block::read_shared(std::size_t offset, void* value, std::size_t bytes) {
  if (offset + bytes > shared_.size()) fail(fmt::format("reads shared memory at {} of {}", offset, shared_.size()));
  for (std::size_t i = offset / 4; i <= (offset + bytes - 1) / 4; ++i) {
    Cell& cell = cells_[i];
    if (cell.writer < 0) fail(fmt::format("reads shared memory at {}, which nobody has written", offset));
    if (cell.copied) fail(fmt::format("reads shared memory at {}, which a copy is under way to", offset));
    if (cell.written == epoch_ && cell.writer != thread_)
      fail(fmt::format("reads shared memory at {}, which thread {} has written since the last barrier", offset,
                       cell.writer));
    cell.reader = cell.read == epoch_ && cell.reader != thread_ ? kSeveral : thread_;
    cell.read = epoch_;
  }
  std::memcpy(value, shared_.data() + offset, bytes);
}

void Block::write_shared(std::size_t offset, const void* value, std::size_t bytes) {
  if (offset + bytes > shared_.size()) fail(fmt::format("writes shared memory at {} of {}", offset, shared_.size()));
  for (std::size_t i = offset / 4; i <= (offset + bytes - 1) / 4; ++i) {
    Cell& cell = cells_[i];
    if (cell.copied) fail(fmt::format("writes shared memory at {}, which a copy is under way to", offset));
    if (cell.read == epoch_ && cell.reader != thread_)
      fail(fmt::format("writes shared memory at {}, which another thread has read since the last barrier", offset));
    if (cell.written == epoch_ && cell.writer != thread_)
      fail(fmt::format("writes shared memory at {}, as thread {} has since the last barrier", offset, cell.writer));
    cell.writer = thread_;
    cell.written = epoch_;
  }
  std::memcpy(shared_.data() + offset, value, bytes);
}

void Block::run(const Place& place, const std::vector<int>& order) {
  // Fibers of the host's thread, so that a launch need not make stacks.
  thread_local std::vector<std::unique_ptr<Fiber>> spare;
  while (fibers_.size() < static_cast<std::size_t>(threads_)) {
    if (spare.empty()) spare.push_back(std::make_unique<Fiber>());
    fibers_.push_back(std::move(spare.back()));
    spare.pop_back();
  }
  place_ = place;
  epoch_ = 1;
  at_barrier_ = done_ = 0;
  std::fill(states_.begin(), states_.end(), State::kReady);
  std::fill(cells_.begin(), cells_.end(), Cell());
  std::fill(copies_.begin(), copies_.end(), std::deque<CopyGroup>(1));
  for (Warp& warp : warps_) warp = Warp();
  Block* const outer = std::exchange(running, this);
  while (done_ < threads_ && !error_) {
    bool progress = false;
    for (const int thread : order) {
      if (states_[static_cast<std::size_t>(thread)] != State::kReady) continue;
      progress = true;
      thread_ = thread;
      fibers_[static_cast<std::size_t>(thread)]->resume(*this, thread);
      if (error_) break;
    }
    if (progress || error_) continue;
    error_ = std::make_exception_ptr(std::runtime_error(
        fmt::format("block {}, {}: {} of {} threads have ended, {} wait at a barrier, the others in a shuffle that "
                    "not all of their warp reach",
                    place.x, place.y, done_, threads_, at_barrier_)));
  }
  running = outer;
  if (error_) {
    fibers_.clear();  // some stand in the middle of the kernel
    std::rethrow_exception(error_);
  }
  for (auto& fiber : fibers_) spare.push_back(std::move(fiber));
  fibers_.clear();
}

void set_order(Order order, std::uint64_t seed) {
  settings().order = order;
  settings().random.seed(seed);
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

/// Those of the device that there are when a launch begins.
class OpenGates {
 public:
  OpenGates() {
    const std::lock_guard lock(gates().mutex);
    for (const MemoryGate* gate : gates().all)
      if (gate->device_ == device_in_use) opened_.push_back(gate);
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

void begin_capture() {
  require_no_capture("a capture");
  keeps = true;
}
std::vector<KeptLaunch> end_capture() {
  keeps = false;
  return std::exchange(kept, {});
}
bool capturing() noexcept {
  return keeps;
}
void require_no_capture(const char* what) {
  if (keeps) throw std::runtime_error(fmt::format("{} while a step is recorded", what));
}

void run_blocks(Extent grid, int threads, std::size_t shared, void (*kernel)(const void*), const void* copy,
                std::size_t bytes) {
  if (grid.x < 0 || grid.y < 0 || grid.x > 0x7FFFFFFF || grid.y > 65'535)
    throw std::runtime_error(fmt::format("a grid of {} by {} blocks", grid.x, grid.y));
  if (keeps) {
    const auto* data = static_cast<const std::byte*>(copy);
    kept.push_back({grid, threads, shared, kernel, {data, data + bytes}});
    return;
  }
  ++settings().launches;
  ++settings().kernels[kernel].launches;
  const OpenGates gates_are_open;
  Block block(threads, shared, kernel, copy);
  std::vector<int> order;
  for (const std::int64_t thread : ordered(threads)) order.push_back(static_cast<int>(thread));
  for (const std::int64_t i : ordered(grid.x * grid.y)) block.run({i % grid.x, i / grid.x, grid.x}, order);
}

}  // namespace dragoman::testing::emulation

#include "block.h"

#include "launch.h"
#include "watch.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

thread_local Block* running_block = nullptr;

}  // namespace

/// Unwinds a fiber that is in the middle of a kernel.
struct Stopped {};

/// Runs one thread of one block after the other. AddressSanitizer is notified of each change of stacks.
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
    if (block_ != nullptr) enter();
  }

  /// Runs the thread until it waits or ends.
  void resume(Block& block, int thread) {
    block_ = &block;
    thread_ = thread;
    const KernelMemory outer =
        std::exchange(kernel_memory, {reinterpret_cast<std::uintptr_t>(stack_.get()), kStack,
                                      reinterpret_cast<std::uintptr_t>(block.copy_), block.copy_bytes_});
    enter();
    kernel_memory = outer;
  }

  /// Returns to the caller of resume().
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
  /// The stack is a member, so it is not freed when boost returns it.
  struct OwnStack {
    void deallocate(boost::context::stack_context&) const noexcept {}
  };
  boost::context::stack_context boost_stack() const {
    boost::context::stack_context context;
    context.sp = stack_.get() + kStack;
    context.size = kStack;
    return context;
  }

  void enter() {
#if defined(__SANITIZE_ADDRESS__)
    void* host_stack = nullptr;
    __sanitizer_start_switch_fiber(&host_stack, stack_.get(), kStack);
#endif
    fiber_ = std::move(fiber_).resume();
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(host_stack, nullptr, nullptr);
#endif
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
  boost::context::fiber fiber_;  // last: it starts with the members above
};

namespace {

/// Fibers of the host's thread, so that a launch need not allocate stacks.
std::vector<std::unique_ptr<Fiber>>& spare() {
  thread_local std::vector<std::unique_ptr<Fiber>> of_thread;
  return of_thread;
}

}  // namespace

Block* Block::running() noexcept {
  return running_block;
}

Block::Block(int threads, std::size_t shared, void (*kernel)(const void*), const void* copy, std::size_t bytes)
    : threads_(threads),
      kernel_(kernel),
      copy_(copy),
      copy_bytes_(bytes),
      states_(static_cast<std::size_t>(threads)),
      warps_(static_cast<std::size_t>((threads + kWarp - 1) / kWarp)),
      shared_(shared),
      cells_((shared + 3) / 4) {}

Block::~Block() {
  if (done_ < threads_) fibers_.clear();  // some are in the middle of the kernel
  for (auto& fiber : fibers_) spare().push_back(std::move(fiber));
}

int Block::lanes_of(int warp) const noexcept {
  return std::min(kWarp, threads_ - warp * kWarp);
}

std::string Block::describe(const std::string& what) const {
  return fmt::format("{}, block {}, {}, thread {}: {}{}", name_of_kernel(kernel_), place_.x, place_.y, thread_, what,
                     describe_order());
}

void Block::fail(const std::string& what) const {
  throw std::runtime_error(describe(what));
}

void Block::end_program(const std::string& what) noexcept {
  const std::string text = running_block == nullptr ? "outside of a kernel: " + what : running_block->describe(what);
  std::fprintf(stderr, "%s\n", text.c_str());
  std::abort();
}

bool Block::owns(const void* data, std::size_t bytes) const noexcept {
  const auto within = [&](const void* object, std::size_t size) {
    const auto offset = reinterpret_cast<std::uintptr_t>(data) - reinterpret_cast<std::uintptr_t>(object);
    return offset < size && bytes <= size - offset;
  };
  return within(this, sizeof *this) || within(warps_.data(), warps_.size() * sizeof(Warp));
}

void Block::report(const std::string& what) noexcept {
  if (running_block == nullptr) end_program(what);
  if (!running_block->error_)
    running_block->error_ = std::make_exception_ptr(std::runtime_error(running_block->describe(what)));
}

void Block::require_same_site(const char* what, const Site& site, const Site& others, int other) const {
  if (site == others) return;
  fail(fmt::format("{} at {}, though thread {} waits at {}", what, site.describe(), other, others.describe()));
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

void Block::barrier(const Site& site) {
  if (done_ > 0) fail("a barrier, though another thread has ended");
  if (at_barrier_ == 0) {
    barrier_site_ = site;
    barrier_first_ = thread_;
  }
  require_same_site("a barrier", site, barrier_site_, barrier_first_);
  states_[static_cast<std::size_t>(thread_)] = State::kAtBarrier;
  if (++at_barrier_ == threads_) return release_barrier();
  wait();
}

const Deposit* Block::exchange(const Deposit& own, const Site& site) {
  const int number = thread_ / kWarp;
  Warp& warp = warps_[static_cast<std::size_t>(number)];
  if (warp.arrived == 0) {
    warp.site = site;
    warp.first = thread_;
  }
  require_same_site("a shuffle", site, warp.site, warp.first);
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
  on_load(from, bytes, __builtin_return_address(0));
  std::vector<std::byte> nothing(bytes);
  write_shared(offset, nothing.data(), bytes);
  for (std::size_t i = offset / 4; i < (offset + bytes) / 4; ++i) cells_[i].copied = true;
  copies_of_thread().back().push_back({offset, from, bytes});
}

std::deque<Block::CopyGroup>& Block::copies_of_thread() {
  if (copies_.empty()) copies_.assign(static_cast<std::size_t>(threads_), std::deque<CopyGroup>(1));
  return copies_[static_cast<std::size_t>(thread_)];
}

void Block::commit_copies() {
  copies_of_thread().emplace_back();
}

void Block::wait_for_copies(int left) {
  auto& groups = copies_of_thread();
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

void Block::begin(const Place& place, const std::vector<int>& order) {
  while (fibers_.size() < static_cast<std::size_t>(threads_)) {
    if (spare().empty()) spare().push_back(std::make_unique<Fiber>());
    fibers_.push_back(std::move(spare().back()));
    spare().pop_back();
  }
  place_ = place;
  order_ = order;
  next_ = 0;
  epoch_ = 1;
  at_barrier_ = done_ = 0;
  std::fill(states_.begin(), states_.end(), State::kReady);
  std::fill(cells_.begin(), cells_.end(), Cell());
  copies_.clear();
  for (Warp& warp : warps_) warp = Warp();
}

bool Block::turn(int most) {
  Block* const outer = std::exchange(running_block, this);
  int waiting = 0;  // of the threads that ran last
  while (most > 0 && done_ < threads_ && !error_ && waiting < threads_) {
    const int thread = order_[next_];
    next_ = (next_ + 1) % order_.size();
    if (states_[static_cast<std::size_t>(thread)] != State::kReady) {
      ++waiting;
      continue;
    }
    waiting = 0;
    --most;
    thread_ = thread;
    fibers_[static_cast<std::size_t>(thread)]->resume(*this, thread);
  }
  running_block = outer;
  if (!error_ && done_ < threads_ && waiting == threads_)
    error_ = std::make_exception_ptr(std::runtime_error(
        fmt::format("{}, block {}, {}: {} of {} threads have ended, {} wait at a barrier, the others in a shuffle that "
                    "not all of their warp reach{}",
                    name_of_kernel(kernel_), place_.x, place_.y, done_, threads_, at_barrier_, describe_order())));
  if (error_) std::rethrow_exception(error_);
  return done_ < threads_;
}

void prepare_blocks() {
  static_cast<void>(spare());
}

void require_block(int threads, std::size_t shared) {
  if (threads < 1 || threads > kMaxThreads) throw std::runtime_error(fmt::format("a block of {} threads", threads));
  if (shared > kMaxShared) throw std::runtime_error(fmt::format("a block with {} bytes of shared memory", shared));
}

}  // namespace dragoman::testing::emulation

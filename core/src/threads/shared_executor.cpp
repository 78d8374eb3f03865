#include "dragoman/core/shared_executor.h"

#include <algorithm>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dragoman::core {
namespace {

using Clock = SharedExecutor::Clock;

/// The number of checks of a condition between two reads of the clock: about a microsecond.
constexpr int kLooks = 32;
/// A thread that takes this long between two reads of the clock, without work, was not running.
constexpr std::chrono::microseconds kHeldUp{500};

/// Tells the processor that this thread waits, so that the other hardware thread of the core gets its share.
void relax() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ThreadLender::~ThreadLender() = default;

int SharedExecutor::threads() const noexcept {
  if (lender_ == nullptr || held_up_.load(std::memory_order_relaxed)) return 1;
  if (alone_until_ != Clock::time_point() && Clock::now() < alone_until_) return 1;
  return 1 + lender_->idle();
}

void SharedExecutor::for_each(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) {
  if (held_up_.load(std::memory_order_relaxed) && !sharing_) do_without_helpers();
  const int wanted = blocks <= 1 || sharing_ ? 0 : threads() - 1;
  if (wanted == 0) return run_alone(blocks, body);
  if (worth_helping_) call_helpers(wanted);
  const int helpers = present_.load(std::memory_order_relaxed);
  const Clock::time_point start = Clock::now();
  helpers == 0 ? run_alone(blocks, body) : run_shared(blocks, body, start);
  note_work(start, 1 + helpers);
}

void SharedExecutor::call_helpers(int wanted) {
  const int expected = present_.load(std::memory_order_relaxed) + called_.load(std::memory_order_relaxed);
  if (expected >= wanted) return;
  called_.fetch_add(wanted - expected, std::memory_order_relaxed);
  lender_->call(*this, wanted - expected);
}

/// Decides whether helpers are worth calling. Measured: waking a thread costs this thread 5 us, and the other one
/// arrives after 50 us. Helpers are not worth it for a model whose step takes 30 us of which a third is shared.
void SharedExecutor::note_work(Clock::time_point start, int threads) noexcept {
  constexpr std::chrono::microseconds kWindow{200};
  constexpr std::chrono::milliseconds kPause{1};
  const Clock::time_point end = Clock::now();
  const Clock::duration since_last = start - std::exchange(last_end_, end);
  if (since_last < kPause) outside_ += since_last;
  inside_ += threads * (end - start);
  if (inside_ + outside_ < kWindow) return;
  worth_helping_ = inside_ > outside_;
  inside_ = outside_ = {};
}

void SharedExecutor::run_shared(std::int64_t blocks, FunctionRef<void(std::int64_t)> body, Clock::time_point start) {
  sharing_ = true;
  work_.body = &body;
  ended_.store(0, std::memory_order_relaxed);
  open_.store(blocks, std::memory_order_release);
  const std::int64_t own = run_blocks();
  wait_for_helpers(blocks - own, start);
  sharing_ = false;
  if (work_.failed.exchange(false, std::memory_order_relaxed)) std::rethrow_exception(std::exchange(work_.error, {}));
}

void SharedExecutor::run_alone(std::int64_t blocks, FunctionRef<void(std::int64_t)> body) {
  for (std::int64_t i = 0; i < blocks; ++i) body(i);
}

std::int64_t SharedExecutor::run_blocks() noexcept {
  std::int64_t count = 0;
  for (std::int64_t block = take(); block >= 0; block = take(), ++count) run(block);
  return count;
}

std::int64_t SharedExecutor::take() noexcept {
  std::int64_t open = open_.load(std::memory_order_acquire);
  while (open > 0)
    if (open_.compare_exchange_weak(open, open - 1, std::memory_order_acq_rel, std::memory_order_acquire))
      return open - 1;
  return -1;
}

void SharedExecutor::run(std::int64_t block) noexcept {
  try {
    (*work_.body)(block);
  } catch (...) {
    if (!work_.failed.exchange(true)) work_.error = std::current_exception();
  }
}

/// Waits for the helpers. A block takes a helper about as long as it took this thread, so a helper that needs far
/// longer has lost its core.
void SharedExecutor::wait_for_helpers(std::int64_t blocks, Clock::time_point start) noexcept {
  constexpr std::chrono::microseconds kTolerance{100};
  const auto theirs = static_cast<std::int32_t>(blocks);
  const auto all_ended = [&] { return ended_.load(std::memory_order_acquire) == theirs; };
  for (int i = 0; i < kLooks; ++i) {
    if (all_ended()) return;
    relax();
  }
  const Clock::time_point waiting_since = Clock::now();
  const Clock::time_point end = waiting_since + 2 * (waiting_since - start) + kTolerance;
  while (Clock::now() < end)
    for (int i = 0; i < kLooks; ++i) {
      if (all_ended()) return;
      relax();
    }
  for (std::int32_t ended = ended_.load(std::memory_order_acquire); ended != theirs;
       ended = ended_.load(std::memory_order_acquire))
    ended_.wait(ended, std::memory_order_acquire);
  do_without_helpers();
}

void SharedExecutor::do_without_helpers() noexcept {
  constexpr std::chrono::milliseconds kShortest{10};
  constexpr std::chrono::milliseconds kLongest{1000};
  const Clock::time_point now = Clock::now();
  const bool again = now < alone_until_ + 4 * penalty_;
  penalty_ = again ? std::min<Clock::duration>(2 * penalty_, kLongest) : kShortest;
  alone_until_ = now + penalty_;
  held_up_.store(false, std::memory_order_relaxed);
}

void SharedExecutor::join() noexcept {
  present_.fetch_add(1, std::memory_order_relaxed);
  called_.fetch_sub(1, std::memory_order_relaxed);
}

void SharedExecutor::help(FunctionRef<bool()> leave) noexcept {
  Clock::time_point last_work = Clock::now();
  for (Clock::time_point now = last_work; !leave() && now < last_work + kPatience;) {
    bool worked = false;
    for (int i = 0; i < kLooks && !worked; ++i) {
      if (const std::int64_t count = run_blocks(); count > 0) {
        // The work may be destroyed as soon as another thread sees this.
        ended_.fetch_add(static_cast<std::int32_t>(count), std::memory_order_acq_rel);
        ended_.notify_one();
        worked = true;
      }
      relax();
    }
    const Clock::time_point before = std::exchange(now, Clock::now());
    if (worked)
      last_work = now;
    else if (now - before > kHeldUp)
      held_up_.store(true, std::memory_order_relaxed);
  }
  present_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace dragoman::core

#include "streams.h"

#include "launch.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace dragoman::testing::emulation {
namespace {

std::atomic<bool> lazy_streams = false;

}  // namespace

/// The stream of a thread.
struct Stream {
  std::mutex mutex;
  std::deque<Work> queue;
  std::uint64_t run = 0;       ///< number of works that have left the queue
  std::exception_ptr failure;  ///< of work whose waiting code cannot throw

  /// If one work fails, all others are dropped.
  void run_until(std::uint64_t number) {
    const std::lock_guard lock(mutex);
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
    while (run < number && !queue.empty()) {
      const Work work = std::move(queue.front());
      queue.pop_front();
      ++run;
      try {
        work();
      } catch (...) {
        run += queue.size();
        queue.clear();
        throw;
      }
    }
  }
  std::uint64_t put(Work work) {
    const std::lock_guard lock(mutex);
    queue.push_back(std::move(work));
    return run + queue.size();
  }
  std::uint64_t end() {
    const std::lock_guard lock(mutex);
    return run + queue.size();
  }
};

namespace {

struct Streams {
  std::mutex mutex;
  std::vector<std::weak_ptr<Stream>> all;

  std::shared_ptr<Stream> add() {
    auto stream = std::make_shared<Stream>();
    const std::lock_guard lock(mutex);
    std::erase_if(all, [](const auto& other) { return other.expired(); });
    all.push_back(stream);
    return stream;
  }
};
Streams& streams() {
  static Streams of_program;
  return of_program;
}

/// Objects of the program are destroyed after those of its thread, and may still free memory.
thread_local bool thread_has_ended = false;

/// The state of a thread: its stream and its capture.
struct ThreadState {
  std::shared_ptr<Stream> stream = streams().add();
  bool captures = false;
  std::vector<Work> kept;
  std::string spoiled;  ///< the reason why the capture is invalid

  ThreadState() = default;
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;
  /// The device continues after a thread has ended.
  ~ThreadState() {
    thread_has_ended = true;
    try {
      stream->run_until(UINT64_MAX);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the stream of a thread that has ended: %s\n", error.what());
      std::abort();
    }
  }
};
ThreadState& own() {
  prepare_launches();  // its destructor may need them
  thread_local ThreadState of_thread;
  return of_thread;
}

}  // namespace

void set_lazy_streams(bool lazy) noexcept {
  lazy_streams = lazy;
}
bool streams_are_lazy() noexcept {
  return lazy_streams;
}

std::uint64_t put(Work work) {
  ThreadState& state = own();
  if (state.captures) {
    state.kept.push_back(std::move(work));
    return state.stream->end();
  }
  const std::uint64_t number = state.stream->put(std::move(work));
  if (!lazy_streams) state.stream->run_until(number);
  return number;
}

void wait_for(std::uint64_t number) {
  require_no_capture("waiting");
  own().stream->run_until(number);
}
void wait_for_stream() {
  wait_for(UINT64_MAX);
}
void wait_without_failing() noexcept {
  if (thread_has_ended) return;
  if (capturing()) return spoil_capture("waiting");
  Stream& stream = *own().stream;
  try {
    stream.run_until(UINT64_MAX);
  } catch (...) {
    stream.failure = std::current_exception();
  }
}

void drop_work() noexcept {
  if (thread_has_ended) return;
  Stream& stream = *own().stream;
  const std::lock_guard lock(stream.mutex);
  stream.run += stream.queue.size();
  stream.queue.clear();
}

void wait_for_all_streams() {
  std::vector<std::weak_ptr<Stream>> all;
  {
    const std::lock_guard lock(streams().mutex);
    all = streams().all;
  }
  for (const auto& each : all)
    if (const auto stream = each.lock()) stream->run_until(UINT64_MAX);
}

StreamPoint StreamPoint::now() {
  StreamPoint point;
  if (capturing()) return point;
  point.stream_ = own().stream;
  point.number_ = point.stream_->end();
  return point;
}
void StreamPoint::wait() const {
  if (stream_ != nullptr) stream_->run_until(number_);
}
bool StreamPoint::reached() const {
  if (stream_ == nullptr) return true;
  const std::lock_guard lock(stream_->mutex);
  return stream_->run >= number_;
}

void prepare_thread() {
  static_cast<void>(own());
}

void begin_capture() {
  require_no_capture("a capture");
  own().captures = true;
}
std::vector<Work> end_capture() {
  ThreadState& state = own();
  state.captures = false;
  std::vector<Work> kept = std::exchange(state.kept, {});
  const std::string spoiled = std::exchange(state.spoiled, {});
  if (!spoiled.empty()) throw std::runtime_error(fmt::format("{} while a step is recorded", spoiled));
  return kept;
}
void abandon_capture() noexcept {
  ThreadState& state = own();
  state.captures = false;
  state.kept.clear();
  state.spoiled.clear();
}
bool capturing() noexcept {
  return own().captures;
}
void require_no_capture(const char* what) {
  if (capturing()) throw std::runtime_error(fmt::format("{} while a step is recorded", what));
}
void spoil_capture(const char* what) noexcept {
  if (capturing() && own().spoiled.empty()) own().spoiled = what;
}

}  // namespace dragoman::testing::emulation

#pragma once

#include "cuda_backend_for_tests.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

/// The streams of threads, and captures of them.
namespace dragoman::testing::emulation {

/// Returns the value of set_lazy_streams().
bool streams_are_lazy() noexcept;
/// Work on the device: a launch or a copy.
using Work = std::function<void()>;
/// Puts work into the calling thread's stream. While the thread captures, the work is stored and does not run. With
/// eager streams it runs immediately. Returns the number of the work, for wait_for().
std::uint64_t put(Work work);
/// Runs the work in the calling thread's stream, up to the one with that number, or all of it. Rethrows exceptions of
/// the work. Throws while the thread captures.
void wait_for(std::uint64_t number);
void wait_for_stream();
/// Does the same for the streams of all threads.
void wait_for_all_streams();
/// A position in a stream that any thread may wait for.
class StreamPoint {
 public:
  StreamPoint() = default;
  /// Returns the position after all work that the calling thread has put into its stream.
  static StreamPoint now();
  void wait() const;
  bool reached() const;
  /// Returns true for a stream that is captured, or for no stream.
  bool empty() const noexcept { return stream_ == nullptr; }

 private:
  std::shared_ptr<struct Stream> stream_;
  std::uint64_t number_ = 0;
};
/// A thread must call this before it creates thread-local objects whose destructors use its stream.
void prepare_thread();
/// The same for code that cannot throw: the next wait throws.
void wait_without_failing() noexcept;
/// Drops the work in the calling thread's stream.
void drop_work() noexcept;

/// From this call on, work that the calling thread puts into its stream is stored and does not run.
void begin_capture();
/// Throws if the thread has made a call that invalidates a capture.
std::vector<Work> end_capture();
void abandon_capture() noexcept;
bool capturing() noexcept;
/// Throws while the calling thread captures: on a GPU, the call would end the capture.
void require_no_capture(const char* what);
/// The same for code that cannot throw: the capture fails at its end.
void spoil_capture(const char* what) noexcept;

}  // namespace dragoman::testing::emulation

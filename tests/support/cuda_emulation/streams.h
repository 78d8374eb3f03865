#pragma once

#include "cuda_backend_for_tests.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

/// The streams of threads, and captures of them.
namespace dragoman::testing::emulation {

/// set_lazy_streams().
bool streams_are_lazy() noexcept;
/// Work on the device: a launch, a copy.
using Work = std::function<void()>;
/// Puts work into the calling thread's stream. While the thread captures, it is kept and does not run. With eager
/// streams it runs at once. Returns the number of the work, for wait_for().
std::uint64_t put(Work work);
/// Runs what the calling thread's stream has, up to the work of that number or all of it. What the work throws comes
/// out here. Throws while the thread captures.
void wait_for(std::uint64_t number);
void wait_for_stream();
/// The same of the streams of all threads.
void wait_for_all_streams();
/// A place in a stream, for which any thread may wait.
class StreamPoint {
 public:
  StreamPoint() = default;
  /// After all that the calling thread has put into its stream.
  static StreamPoint now();
  void wait() const;
  bool reached() const;
  /// Of a stream that is captured, or of none.
  bool empty() const noexcept { return stream_ == nullptr; }

 private:
  std::shared_ptr<struct Stream> stream_;
  std::uint64_t number_ = 0;
};
/// To be called by a thread before it makes thread-local objects whose destructors use its stream.
void prepare_thread();
/// The same for code that cannot throw: the next wait does.
void wait_without_failing() noexcept;
/// Forgets what the calling thread's stream has.
void drop_work() noexcept;

/// From now on what the calling thread puts into its stream is kept, and not run.
void begin_capture();
/// Throws if the thread has done what a capture does not survive.
std::vector<Work> end_capture();
void abandon_capture() noexcept;
bool capturing() noexcept;
/// Throws while the calling thread captures: on a GPU it would end the capture.
void require_no_capture(const char* what);
/// The same for code that cannot throw: the capture fails at its end.
void spoil_capture(const char* what) noexcept;

}  // namespace dragoman::testing::emulation

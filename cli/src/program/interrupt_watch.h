#pragma once

#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

namespace dragoman::cli {

/// Turns the first SIGINT, SIGTERM or SIGHUP into a stop request, so that work is saved. The second one ends the
/// program at once. So does the end of the time that the work may take to stop, whatever it is doing: computing in
/// somebody else's code, waiting for a device, writing to a pipe that nobody reads. Either is as safe as being killed.
/// Signals that the caller ignores (nohup, jobs in the background of a script) stay ignored.
///
/// The signals are blocked in every thread and fetched by one that waits for them: a handler would run on the stack of
/// whichever thread it interrupts, and oneDNN's GEMM (before 3.11.2, its issue 4845) lets the stack pointer point at
/// heap memory meanwhile, which the handler's frame would overwrite. Must be made before any other thread, since
/// threads inherit the mask; it stays blocked to the program's end.
class InterruptWatch {
 public:
  /// The exit status after a stop request.
  static constexpr int kStatus = 130;

  InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch();
  std::stop_token token() const { return stop_.get_token(); }
  /// From now on the work takes as long to stop as it takes. Without this, the program has ended two seconds after the
  /// first signal.
  void wait_for_work() noexcept { waits_for_work_ = true; }

 private:
  static constexpr int kWake = SIGUSR2;

  void watch(const std::stop_token& done);
  int next_signal() const;

  std::atomic<bool> waits_for_work_{false};
  sigset_t signals_{};
  std::stop_source stop_;
  std::jthread watcher_;  // last: joined while the others live
};

}  // namespace dragoman::cli

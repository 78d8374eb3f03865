#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace dragoman::cli {

/// Converts the first SIGINT, SIGTERM or SIGHUP to a stop request, so that work is saved. The second signal ends the
/// program immediately. So does the end of the time that the work may take to stop, whatever it is doing: computing in
/// foreign code, waiting for a device, writing to a pipe without a reader. Both are as safe as being killed. Signals
/// that the caller ignores (nohup, background jobs of a script) remain ignored.
///
/// The signals are blocked in every thread, and one thread waits for them. A handler would run on the stack of the
/// interrupted thread. In oneDNN's GEMM (before 3.11.2, its issue 4845) the stack pointer may point to heap memory,
/// which the handler's frame would overwrite. Must be started before any other thread, because threads inherit the
/// mask. The object lives until the process ends, because the last output may wait for its reader, even in exit().
class InterruptWatch {
 public:
  /// The exit status after a stop request.
  static constexpr int kStatus = 130;

  /// Starts the watch. May be called once.
  static InterruptWatch& start();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch() = delete;
  std::stop_token token() const { return stop_.get_token(); }
  /// From this call on, the work may take any time to stop. Otherwise the program ends two seconds after the first
  /// signal.
  void wait_for_work() noexcept { waits_for_work_ = true; }
  /// Ends wait_for_work(): the two seconds count again, from this call on if a signal has come.
  void work_is_saved() noexcept;
  /// From this call on, SIGHUP calls `action` instead of requesting a stop. It is called by the thread that waits for
  /// signals, so it must be quick. An empty function restores the stop request.
  void on_hangup(std::function<void()> action);

 private:
  static constexpr int kWake = SIGUSR2;

  InterruptWatch();
  [[noreturn]] void watch();
  int next_signal() const;
  bool handle_hangup();

  std::atomic<bool> waits_for_work_{false};
  std::mutex hangup_mutex_;
  std::function<void()> hangup_;
  sigset_t signals_{};
  std::stop_source stop_;
  std::thread watcher_;  // last: it uses the others
};

}  // namespace dragoman::cli

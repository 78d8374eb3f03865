#include "program/interrupt_watch.h"

#include "program/standard_streams.h"

#include <cerrno>

#include <poll.h>
#include <unistd.h>

namespace dragoman::cli {
namespace {

/// The system needs the rest of the two seconds to free the memory of a large process.
constexpr timespec kPatience{.tv_sec = 1, .tv_nsec = 500'000'000};

[[noreturn]] void end_now() {
  pollfd standard_error{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  // A short text fits if there is room at all; if there is none, nobody reads.
  if (::poll(&standard_error, 1, 0) > 0 && claim_last_word())
    write_to_standard_error(
        "dragoman: interrupted; it did not stop by itself in time, and was ended where it was: what was written before "
        "is kept\n");
  ::_exit(InterruptWatch::kStatus);
}

}  // namespace

InterruptWatch::InterruptWatch() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    // A signal that is both ignored and blocked would still be fetched.
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&signals_, signal);
  }
  sigaddset(&signals_, kWake);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  watcher_ = std::thread([this] { watch(); });
}

InterruptWatch& InterruptWatch::start() {
  static auto* const watch = new InterruptWatch;  // NOLINT(cppcoreguidelines-owning-memory): see the class
  return *watch;
}

void InterruptWatch::work_is_saved() noexcept {
  if (!waits_for_work_.exchange(false)) return;
  pthread_kill(watcher_.native_handle(), kWake);  // blocked, so it only wakes the thread
}

/// Waits for a signal; after a stop request, at most until the patience ends. Returns -1 with EAGAIN at that time.
int InterruptWatch::next_signal() const {
  const bool limited = stop_.stop_requested() && !waits_for_work_;
  return limited ? sigtimedwait(&signals_, nullptr, &kPatience) : sigwaitinfo(&signals_, nullptr);
}

void InterruptWatch::on_hangup(std::function<void()> action) {
  const std::lock_guard lock(hangup_mutex_);
  hangup_ = std::move(action);
}

/// Returns whether there is an action for SIGHUP, which it calls.
bool InterruptWatch::handle_hangup() {
  const std::lock_guard lock(hangup_mutex_);
  if (!hangup_) return false;
  hangup_();
  return true;
}

void InterruptWatch::watch() {
  for (;;) {
    const int signal = next_signal();
    const int error = errno;
    if (signal < 0 && error == EAGAIN && !waits_for_work_) end_now();
    if (signal == SIGHUP && handle_hangup()) continue;
    if (signal > 0 && signal != kWake && !stop_.request_stop()) ::_exit(128 + signal);
  }
}

}  // namespace dragoman::cli

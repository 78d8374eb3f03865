#pragma once

#include <linux/seccomp.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace dragoman::faults {

/// What a system call does to the world, as far as faults are concerned. Calls are counted and failed by class, so that
/// it does not matter whether a library says write, pwrite64 or sendfile.
enum class CallClass : std::uint8_t {
  kWrite,        ///< bytes to regular files and to standard output
  kWriteError,   ///< bytes to standard error
  kRead,         ///< bytes of regular files and of standard input
  kSync,         ///< fsync and its kin
  kRename,       ///< rename and link
  kTruncate,     ///< ftruncate, fallocate
  kOpenToWrite,  ///< open with the right to write, or creating
  kOpenToRead,   ///< every other open
  kMakeFolder,   ///< mkdir
  kRemove,       ///< unlink, rmdir
  kAttributes,   ///< chmod, chown, utimes
  kLock,         ///< flock
  kListFolder,   ///< getdents64
  kStartThread,  ///< clone, clone3
  kMapMemory,    ///< mmap, mremap
};
inline constexpr std::size_t kCallClasses = 15;

std::string_view name_of(CallClass call_class);

/// Returns whether a slow disk makes such a call slow.
constexpr bool is_disk_call(CallClass call_class) {
  using enum CallClass;
  return call_class != kWriteError && call_class != kStartThread && call_class != kMapMemory;
}
/// Returns how many of the calls, counted by class, go to a disk.
std::uint64_t count_disk_calls(const std::vector<std::uint64_t>& counts);

/// What happens to a chosen system call instead of its work, or before it.
struct CallFault {
  enum class Action : std::uint8_t {
    kError,   ///< it fails with errno `value` and has done nothing
    kShort,   ///< a write or read takes half of the bytes
    kSignal,  ///< signal `value` is sent, then the call runs; of SIGKILL the call does not run
    kCall,    ///< `before` is called, then the call runs
  };
  std::vector<CallClass> classes;  ///< counted together
  std::uint64_t first = 1;         ///< the number, from 1, of the call that fails
  bool all_later = false;          ///< and all those after it
  Action action = Action::kError;
  int value = 0;
  std::function<void()> before = {};
};

/// Stands between a process and the kernel by seccomp's user notification: each call of the monitored kinds waits until
/// the supervisor decides. Unlike an interposed library it sees glibc's own calls; unlike ptrace's counters, which are
/// per thread, its numbers count the whole process.
///
/// Counting starts when the program ignores or handles SIGPIPE, the first thing it does in main(): what the loader
/// and the initialisers of other people's libraries do is no concern of ours.
class CallSupervisor {
 public:
  /// Whether this kernel and its rules let a process be supervised.
  static bool available();

  /// For the child between fork and exec; async-signal-safe. The descriptor of the listener, or -1.
  static int install_filter() noexcept;

  /// Takes ownership of the listener.
  CallSupervisor(int listener, pid_t process, std::optional<CallFault> fault);
  CallSupervisor(const CallSupervisor&) = delete;
  CallSupervisor& operator=(const CallSupervisor&) = delete;
  ~CallSupervisor();

  /// For poll(): readable when a call waits.
  int descriptor() const noexcept { return listener_; }
  /// Decides one waiting call; false when the supervised process is gone.
  bool serve();
  /// From call no. `first` of count() on, each call of disks waits so many seconds before it runs.
  void slow_down(std::uint64_t first, double seconds) {
    slow_from_ = first;
    delay_ = seconds;
  }
  /// Lets the slowed calls run whose time has come. The caller calls it often.
  void release_slowed();

  bool started() const noexcept { return started_; }
  bool fired() const noexcept { return fired_; }
  const std::vector<std::uint64_t>& counts() const noexcept { return counts_; }
  std::uint64_t count() const { return count_disk_calls(counts_); }
  /// Peak of the address space in bytes, as it was when the program ended by itself.
  std::uint64_t peak_address_space() const noexcept { return peak_address_space_; }

 private:
  struct Answer {
    std::int64_t value = 0;
    std::int32_t error = 0;
    bool run = true;      ///< let the kernel do it
    bool at_once = true;  ///< not slowed
  };
  std::optional<CallClass> classify(const seccomp_notif& call) const;
  std::optional<CallClass> transfer_class(const seccomp_notif& call, CallClass for_files, unsigned argument) const;
  bool is_due(CallClass call_class);
  std::optional<Answer> decide(const seccomp_notif& call);
  std::optional<Answer> strike(const seccomp_notif& call);
  Answer transfer_half(const seccomp_notif& call) const;
  void answer(const seccomp_notif& call, const Answer& answer) const;
  void note_start(const seccomp_notif& call);

  struct Slowed {
    std::chrono::steady_clock::time_point until;
    seccomp_notif call;
  };

  std::uint64_t slow_from_ = 0;
  double delay_ = 0;
  std::vector<Slowed> slowed_;
  int listener_;
  pid_t process_;
  std::optional<CallFault> fault_;
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(kCallClasses);
  std::uint64_t due_count_ = 0;
  std::uint64_t peak_address_space_ = 0;
  bool started_ = false;
  bool fired_ = false;
};

}  // namespace dragoman::faults

#include "system_calls.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace dragoman::faults {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the fault harness knows the system calls of x86-64 and of 64-bit ARM"
#endif

/// How the class of a call follows from its arguments.
enum class Rule : std::uint8_t { kFixed, kTransfer, kOpen, kCreate, kOpenAt, kExit, kSignalAction };

struct MonitoredCall {
  long number;
  Rule rule;
  CallClass call_class;
  unsigned descriptor_argument = 0;
};

constexpr std::array kMonitored = {
    MonitoredCall{SYS_write, Rule::kTransfer, CallClass::kWrite},
    MonitoredCall{SYS_writev, Rule::kTransfer, CallClass::kWrite},
    MonitoredCall{SYS_pwrite64, Rule::kTransfer, CallClass::kWrite},
    MonitoredCall{SYS_pwritev, Rule::kTransfer, CallClass::kWrite},
    MonitoredCall{SYS_sendfile, Rule::kTransfer, CallClass::kWrite},
    MonitoredCall{SYS_copy_file_range, Rule::kTransfer, CallClass::kWrite, 2},
    MonitoredCall{SYS_read, Rule::kTransfer, CallClass::kRead},
    MonitoredCall{SYS_readv, Rule::kTransfer, CallClass::kRead},
    MonitoredCall{SYS_pread64, Rule::kTransfer, CallClass::kRead},
    MonitoredCall{SYS_preadv, Rule::kTransfer, CallClass::kRead},
    MonitoredCall{SYS_fsync, Rule::kFixed, CallClass::kSync},
    MonitoredCall{SYS_fdatasync, Rule::kFixed, CallClass::kSync},
    MonitoredCall{SYS_msync, Rule::kFixed, CallClass::kSync},
    MonitoredCall{SYS_syncfs, Rule::kFixed, CallClass::kSync},
    MonitoredCall{SYS_renameat, Rule::kFixed, CallClass::kRename},
    MonitoredCall{SYS_renameat2, Rule::kFixed, CallClass::kRename},
    MonitoredCall{SYS_linkat, Rule::kFixed, CallClass::kRename},
    MonitoredCall{SYS_symlinkat, Rule::kFixed, CallClass::kRename},
    MonitoredCall{SYS_truncate, Rule::kFixed, CallClass::kTruncate},
    MonitoredCall{SYS_ftruncate, Rule::kFixed, CallClass::kTruncate},
    MonitoredCall{SYS_fallocate, Rule::kFixed, CallClass::kTruncate},
    MonitoredCall{SYS_openat, Rule::kOpenAt, CallClass::kOpenToRead},
    MonitoredCall{SYS_mkdirat, Rule::kFixed, CallClass::kMakeFolder},
    MonitoredCall{SYS_unlinkat, Rule::kFixed, CallClass::kRemove},
    MonitoredCall{SYS_fchmod, Rule::kFixed, CallClass::kAttributes},
    MonitoredCall{SYS_fchmodat, Rule::kFixed, CallClass::kAttributes},
    MonitoredCall{SYS_fchown, Rule::kFixed, CallClass::kAttributes},
    MonitoredCall{SYS_fchownat, Rule::kFixed, CallClass::kAttributes},
    MonitoredCall{SYS_utimensat, Rule::kFixed, CallClass::kAttributes},
    MonitoredCall{SYS_flock, Rule::kFixed, CallClass::kLock},
    MonitoredCall{SYS_getdents64, Rule::kFixed, CallClass::kListFolder},
    MonitoredCall{SYS_clone, Rule::kFixed, CallClass::kStartThread},
    MonitoredCall{SYS_clone3, Rule::kFixed, CallClass::kStartThread},
    MonitoredCall{SYS_mmap, Rule::kFixed, CallClass::kMapMemory},
    MonitoredCall{SYS_mremap, Rule::kFixed, CallClass::kMapMemory},
    MonitoredCall{SYS_rt_sigaction, Rule::kSignalAction, CallClass::kRead},
    MonitoredCall{SYS_exit_group, Rule::kExit, CallClass::kRead},
#if defined(__x86_64__)
    MonitoredCall{SYS_rename, Rule::kFixed, CallClass::kRename},
    MonitoredCall{SYS_link, Rule::kFixed, CallClass::kRename},
    MonitoredCall{SYS_symlink, Rule::kFixed, CallClass::kRename},
    MonitoredCall{SYS_open, Rule::kOpen, CallClass::kOpenToRead},
    MonitoredCall{SYS_creat, Rule::kCreate, CallClass::kOpenToWrite},
    MonitoredCall{SYS_mkdir, Rule::kFixed, CallClass::kMakeFolder},
    MonitoredCall{SYS_unlink, Rule::kFixed, CallClass::kRemove},
    MonitoredCall{SYS_rmdir, Rule::kFixed, CallClass::kRemove},
    MonitoredCall{SYS_chmod, Rule::kFixed, CallClass::kAttributes},
    MonitoredCall{SYS_chown, Rule::kFixed, CallClass::kAttributes},
#endif
};

const MonitoredCall* find_call(long number) {
  const auto* place = std::ranges::find(kMonitored, number, &MonitoredCall::number);
  return place == kMonitored.end() ? nullptr : place;
}

CallClass open_class(std::uint64_t flags) {
  const bool to_write = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0;
  return to_write ? CallClass::kOpenToWrite : CallClass::kOpenToRead;
}

/// What one of the process's descriptors is open on.
std::optional<struct stat> describe_descriptor(pid_t process, std::uint64_t descriptor) {
  struct stat status {};
  if (::stat(fmt::format("/proc/{}/fd/{}", process, descriptor).c_str(), &status) != 0) return std::nullopt;
  return status;
}

std::uint64_t read_peak_address_space(pid_t process) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmPeak:")) return std::stoull(line.substr(7)) * 1024;
  return 0;
}

long seccomp(unsigned operation, unsigned flags, void* argument) {
  return ::syscall(SYS_seccomp, operation, flags, argument);
}

constexpr sock_filter statement(unsigned code, std::uint32_t operand) {
  return {static_cast<std::uint16_t>(code), 0, 0, operand};
}
constexpr sock_filter branch(unsigned code, std::uint32_t operand, std::uint8_t if_true, std::uint8_t if_false) {
  return {static_cast<std::uint16_t>(code), if_true, if_false, operand};
}

/// Asks the supervisor about the monitored calls and lets all others run.
constexpr auto make_filter() {
  constexpr std::size_t kCalls = kMonitored.size();
  std::array<sock_filter, kCalls + 5> filter{};
  std::size_t at = 0;
  filter[at++] = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
  filter[at++] = branch(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 0, kCalls + 1);
  filter[at++] = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (std::size_t i = 0; i < kCalls; ++i)
    filter[at++] = branch(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(kMonitored[i].number),
                          static_cast<std::uint8_t>(kCalls - i), 0);
  filter[at++] = statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  filter[at++] = statement(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
  return filter;
}

constexpr auto kFilter = make_filter();

}  // namespace

std::string_view name_of(CallClass call_class) {
  constexpr std::array<std::string_view, kCallClasses> kNames = {
      "write", "write to stderr", "read",   "sync",       "rename", "truncate",    "open for writing",
      "open",  "mkdir",           "unlink", "attributes", "lock",   "list folder", "start thread",
      "mmap"};
  return kNames[static_cast<std::size_t>(call_class)];
}

std::uint64_t count_disk_calls(const std::vector<std::uint64_t>& counts) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) count += is_disk_call(static_cast<CallClass>(i)) ? counts[i] : 0;
  return count;
}

int CallSupervisor::install_filter() noexcept {
  // The kernel wants a pointer to non-const; it copies the program.
  sock_fprog program{static_cast<unsigned short>(kFilter.size()), const_cast<sock_filter*>(kFilter.data())};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return static_cast<int>(seccomp(SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

bool CallSupervisor::available() {
  const pid_t child = ::fork();
  // Not _exit(), which the filter monitors and which nobody would answer.
  if (child == 0) ::syscall(SYS_exit, install_filter() >= 0 ? 0 : 1);
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

CallSupervisor::CallSupervisor(int listener, pid_t process, std::optional<CallFault> fault)
    : listener_(listener), process_(process), fault_(std::move(fault)) {}

CallSupervisor::~CallSupervisor() {
  ::close(listener_);
}

bool CallSupervisor::serve() {
  seccomp_notif call{};
  if (::ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return errno == EINTR || errno == ENOENT;
  const auto decided = decide(call);
  if (!decided) return true;
  if (decided->at_once || delay_ <= 0 || count() < slow_from_) {
    answer(call, *decided);
  } else {
    const std::chrono::duration<double> delay(delay_);
    const auto now = std::chrono::steady_clock::now();
    slowed_.push_back({now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(delay), call});
  }
  return true;
}

void CallSupervisor::release_slowed() {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(slowed_, [&](const Slowed& slowed) {
    if (slowed.until > now) return false;
    answer(slowed.call, Answer{});
    return true;
  });
}

void CallSupervisor::answer(const seccomp_notif& call, const Answer& answer) const {
  seccomp_notif_resp response{};
  response.id = call.id;
  response.val = answer.value;
  response.error = -answer.error;
  response.flags = answer.run ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
  ::ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &response);  // fails only if the caller has died meanwhile
}

void CallSupervisor::note_start(const seccomp_notif& call) {
  if (call.data.args[0] == SIGPIPE && call.data.args[1] != 0) started_ = true;
}

std::optional<CallSupervisor::Answer> CallSupervisor::decide(const seccomp_notif& call) {
  const MonitoredCall* monitored = find_call(call.data.nr);
  if (monitored->rule == Rule::kSignalAction) note_start(call);
  if (monitored->rule == Rule::kExit) peak_address_space_ = read_peak_address_space(process_);
  const auto call_class = started_ ? classify(call) : std::nullopt;
  if (!call_class) return Answer{};
  ++counts_[static_cast<std::size_t>(*call_class)];
  if (is_due(*call_class)) return strike(call);
  return Answer{.at_once = !is_disk_call(*call_class)};
}

std::optional<CallClass> CallSupervisor::classify(const seccomp_notif& call) const {
  const MonitoredCall& monitored = *find_call(call.data.nr);
  switch (monitored.rule) {
    case Rule::kFixed:
    case Rule::kCreate:
      return monitored.call_class;
    case Rule::kTransfer:
      return transfer_class(call, monitored.call_class, monitored.descriptor_argument);
    case Rule::kOpen:
      return open_class(call.data.args[1]);
    case Rule::kOpenAt:
      return open_class(call.data.args[2]);
    case Rule::kExit:
    case Rule::kSignalAction:
      break;
  }
  return std::nullopt;
}

/// Pipes and event counters between threads are no disks: only files and the standard streams count.
std::optional<CallClass> CallSupervisor::transfer_class(const seccomp_notif& call, CallClass for_files,
                                                        unsigned argument) const {
  const std::uint64_t descriptor = call.data.args[argument];
  const auto status = describe_descriptor(process_, descriptor);
  if (!status) return std::nullopt;
  if (S_ISREG(status->st_mode)) return for_files;
  if (for_files == CallClass::kRead) return descriptor == STDIN_FILENO ? std::optional(for_files) : std::nullopt;
  if (descriptor == STDOUT_FILENO) return for_files;
  return descriptor == STDERR_FILENO ? std::optional(CallClass::kWriteError) : std::nullopt;
}

bool CallSupervisor::is_due(CallClass call_class) {
  if (!fault_ || std::ranges::find(fault_->classes, call_class) == fault_->classes.end()) return false;
  ++due_count_;
  return fault_->all_later ? due_count_ >= fault_->first : due_count_ == fault_->first;
}

/// No answer if the process was killed: the call must not run.
std::optional<CallSupervisor::Answer> CallSupervisor::strike(const seccomp_notif& call) {
  fired_ = true;
  switch (fault_->action) {
    case CallFault::Action::kError:
      return Answer{.error = fault_->value, .run = false};
    case CallFault::Action::kShort:
      return transfer_half(call);
    case CallFault::Action::kSignal:
      ::kill(process_, fault_->value);
      return fault_->value == SIGKILL ? std::nullopt : std::optional(Answer{});
    case CallFault::Action::kCall:
      fault_->before();
      return Answer{};
  }
  return Answer{};
}

/// Does the first half of a write or read on the caller's own open file, so that positions move as they would have.
/// Calls with several buffers, and of a single byte, run whole.
CallSupervisor::Answer CallSupervisor::transfer_half(const seccomp_notif& call) const {
  const bool writes = call.data.nr == SYS_write;
  const std::size_t half = call.data.args[2] / 2;
  if ((!writes && call.data.nr != SYS_read) || half == 0) return {};
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, process_, 0));
  const int file = static_cast<int>(::syscall(SYS_pidfd_getfd, handle, static_cast<int>(call.data.args[0]), 0));
  std::string buffer(half, '\0');
  const iovec ours{buffer.data(), half};
  const iovec theirs{reinterpret_cast<void*>(call.data.args[1]), half};  // NOLINT: an address in the other process
  std::int64_t moved = -1;
  if (writes && ::process_vm_readv(process_, &ours, 1, &theirs, 1, 0) == static_cast<ssize_t>(half)) {
    moved = ::write(file, buffer.data(), half);
  } else if (!writes) {
    moved = ::read(file, buffer.data(), half);
    const iovec got{buffer.data(), static_cast<std::size_t>(std::max<std::int64_t>(moved, 0))};
    if (moved > 0 && ::process_vm_writev(process_, &got, 1, &theirs, 1, 0) != moved) moved = -1;
  }
  const int error = errno;
  ::close(file);
  ::close(handle);
  return moved >= 0 ? Answer{.value = moved, .run = false} : Answer{.error = error, .run = false};
}

}  // namespace dragoman::faults

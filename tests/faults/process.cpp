#include "process.h"

#include "clocks.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace dragoman::faults {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kKeptBytes = 1 << 24;  // of a stream; more is read and dropped
constexpr double kMaxPatience = 200;         // seconds that a busy machine may add
constexpr int kNotEnforced = 125;            // exit status of a child that could not set up what the plan asks

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  bool open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

[[noreturn]] void fail_setup(const char* what) {
  throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_setup("pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Descriptor open_device(const char* path, int flags) {
  Descriptor device(::open(path, flags | O_CLOEXEC));
  if (!device.open()) fail_setup(path);
  return device;
}

void set_non_blocking(int descriptor) {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

/// Our end of a stream and the child's.
struct Connection {
  Stream stream;
  Descriptor ours{};
  Descriptor theirs{};
  std::uint64_t moved = 0;
  Clock::time_point not_before{};  ///< slow streams pause
  bool at_end = false;             ///< the program has ended: take what is left at once

  bool is_slow() const { return !at_end && stream.kind == Stream::Kind::kNonBlocking; }
};

Connection connect_input(const Stream& stream) {
  Connection connection{.stream = stream};
  if (stream.kind == Stream::Kind::kClosed) return connection;
  if (stream.kind == Stream::Kind::kFolder) {
    connection.theirs = open_device("/", O_RDONLY);
    return connection;
  }
  Pipe pipe = make_pipe();
  connection.ours = std::move(pipe.write_end);
  connection.theirs = std::move(pipe.read_end);
  set_non_blocking(connection.ours.get());
  if (connection.is_slow()) set_non_blocking(connection.theirs.get());
  return connection;
}

Connection connect_output(const Stream& stream) {
  Connection connection{.stream = stream};
  if (stream.kind == Stream::Kind::kClosed) return connection;
  if (stream.kind == Stream::Kind::kFull) {
    connection.theirs = open_device("/dev/full", O_WRONLY);
    return connection;
  }
  Pipe pipe = make_pipe();
  connection.theirs = std::move(pipe.write_end);
  if (stream.kind != Stream::Kind::kBroken || stream.bytes > 0) {
    connection.ours = std::move(pipe.read_end);
    set_non_blocking(connection.ours.get());
  }
  if (connection.is_slow()) set_non_blocking(connection.theirs.get());
  return connection;
}

/// Everything that the child needs, made before fork(): in the child of a program with threads nothing may allocate.
class Launch {
 public:
  explicit Launch(const RunPlan& plan) : plan_(plan), command_(plan.command), environment_(plan.environment) {
    for (char** variable = ::environ; *variable != nullptr; ++variable) environment_.emplace_back(*variable);
    for (std::string& argument : command_) arguments_.push_back(argument.data());
    for (std::string& variable : environment_) variables_.push_back(variable.data());
    arguments_.push_back(nullptr);
    variables_.push_back(nullptr);
  }

  /// In the child; never returns.
  [[noreturn]] void become_program(std::array<int, 3> streams, int supervisor_socket) noexcept {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);  // a harness that is killed leaves no program behind
    reset_signals();
    for (int i = 0; i < 3; ++i) place_stream(streams[static_cast<std::size_t>(i)], i);
    if (::chdir(plan_.folder.c_str()) != 0 || !set_limits() || (plan_.powerless && !drop_power())) give_up();
    if (plan_.supervised && !hand_over_listener(supervisor_socket)) give_up();
    ::execve(arguments_[0], arguments_.data(), variables_.data());
    give_up();
  }

 private:
  [[noreturn]] static void give_up() noexcept {
    for (;;) ::syscall(SYS_exit, kNotEnforced);  // unlike _exit() not monitored
  }

  static void reset_signals() noexcept {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int number = 1; number < SIGRTMIN; ++number)
      ::signal(number, SIG_DFL);  // nohup and background jobs ignore some
    ::signal(SIGXFSZ, SIG_IGN);   // as many shells and languages leave it: the write fails with EFBIG
  }

  static void place_stream(int from, int to) noexcept {
    if (from < 0)
      ::close(to);
    else
      ::dup2(from, to);
  }

  static bool limit(int resource, const std::optional<std::uint64_t>& value) noexcept {
    if (!value) return true;
    const rlimit limit{*value, *value};
    return ::setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0;
  }

  bool set_limits() const noexcept {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    return limit(RLIMIT_AS, plan_.limits.address_space) && limit(RLIMIT_FSIZE, plan_.limits.file_size) &&
           limit(RLIMIT_NOFILE, plan_.limits.open_files);
  }

  /// Another user than root has nothing to drop.
  static bool drop_power() noexcept {
    if (::geteuid() != 0) return true;
    if (::prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0) != 0) return false;
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> none{};
    return ::syscall(SYS_capset, &header, none.data()) == 0;
  }

  /// Sends the listener through the socket.
  static bool hand_over_listener(int socket) noexcept {
    const int listener = CallSupervisor::install_filter();
    if (listener < 0) return false;
    char byte = 0;
    iovec data{&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &listener, sizeof(int));
    const bool sent = ::sendmsg(socket, &message, 0) == 1;
    ::close(listener);
    return sent;
  }

  const RunPlan& plan_;
  std::vector<std::string> command_;
  std::vector<std::string> environment_;
  std::vector<char*> arguments_;
  std::vector<char*> variables_;
};

/// The listener that the child sends; -1 if it died before.
int receive_listener(int socket) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr) return -1;
  int listener = -1;
  std::memcpy(&listener, CMSG_DATA(header), sizeof(int));
  return listener;
}

double seconds_of(const timeval& time) {
  constexpr double kMicrosecond = 1e-6;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * kMicrosecond;
}

/// A running program.
class Process {
 public:
  explicit Process(const RunPlan& plan)
      : plan_(plan),
        input_(connect_input(plan.input)),
        output_(connect_output(plan.output)),
        error_(connect_output(plan.error)) {
    start();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (!reaped_) {
      kill_all();
      ::waitpid(process_, nullptr, 0);
    }
  }

  Outcome finish() {
    for (bool overdue = false; !reaped_ && !overdue;) {
      serve_once();
      send_due_signals();
      overdue = is_overdue();  // before the last look: this thread may have waited, too
      reap(WNOHANG);
    }
    outcome_.ended = reaped_;
    outcome_.seconds = seconds_since_start();
    if (!reaped_) {
      kill_all();
      reap(0);
    }
    ::kill(-process_, SIGKILL);  // whatever it may have started
    output_.at_end = error_.at_end = true;
    drain(output_, outcome_.output);
    drain(error_, outcome_.error);
    note_supervision();
    return std::move(outcome_);
  }

 private:
  void start() {
    Launch launch(plan_);
    std::array<int, 2> sockets{-1, -1};
    if (plan_.supervised && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
      fail_setup("socketpair");
    Descriptor ours(sockets[0]);
    Descriptor theirs(sockets[1]);
    begin_ = Clock::now();
    process_ = ::fork();
    if (process_ < 0) fail_setup("fork");
    if (process_ == 0)
      launch.become_program({input_.theirs.get(), output_.theirs.get(), error_.theirs.get()}, theirs.get());
    theirs.close();
    for (Connection* connection : {&input_, &output_, &error_}) connection->theirs.close();
    handle_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
    if (!plan_.supervised) return;
    const int listener = receive_listener(ours.get());
    if (listener < 0) throw std::runtime_error("the program could not be put under supervision");
    supervisor_ = std::make_unique<CallSupervisor>(listener, process_, plan_.call_fault);
    const std::uint64_t call = plan_.signals_begin.calls;  // at which the signal comes: it is slow itself
    if (call > 0) supervisor_->slow_down(call, plan_.slowness_after_signal);
  }

  /// Whether its time is over. What it or this thread, which answers its system calls, waited for a processor on a busy
  /// machine does not count.
  bool is_overdue() const {
    const double elapsed = seconds_since_start();
    if (elapsed <= end_) return false;
    const double waits = processor_wait(process_) + (thread_wait("/proc/thread-self") - own_wait_before_) +
                         (stolen_seconds() - stolen_before_);
    return elapsed > end_ + std::min(waits, kMaxPatience);
  }

  double seconds_since_start() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  void kill_all() const {
    ::kill(process_, SIGKILL);
    ::kill(-process_, SIGKILL);
  }

  /// Waits for whatever comes next: a hundredth of a second at most, and a fraction of a millisecond before a signal.
  void serve_once() {
    std::array<pollfd, 5> events{};
    events[0] = {handle_.get(), POLLIN, 0};
    events[1] = {wants_to_write() ? input_.ours.get() : -1, POLLOUT, 0};
    events[2] = {wants_to_read(output_) ? output_.ours.get() : -1, POLLIN, 0};
    events[3] = {error_.ours.get(), POLLIN, 0};
    events[4] = {supervisor_ ? supervisor_->descriptor() : -1, POLLIN, 0};
    if (supervisor_) supervisor_->release_slowed();
    const timespec patience{.tv_sec = 0, .tv_nsec = is_watched() ? 200'000 : 10'000'000};
    if (::ppoll(events.data(), events.size(), &patience, nullptr) <= 0) return;
    if ((events[4].revents & POLLIN) != 0) supervisor_->serve();
    if (events[4].revents != 0 && (events[4].revents & POLLIN) == 0) gone_ = true;
    if (events[1].revents != 0) feed();
    if (events[2].revents != 0) drain(output_, outcome_.output);
    if (events[3].revents != 0) drain(error_, outcome_.error);
    if (gone_ && supervisor_) note_supervision();
  }

  bool wants_to_write() const {
    return input_.ours.open() && input_.stream.kind != Stream::Kind::kSilent && Clock::now() >= input_.not_before;
  }
  static bool wants_to_read(const Connection& connection) {
    return connection.ours.open() && Clock::now() >= connection.not_before;
  }

  /// Gives the program more input; closes the pipe at its end.
  void feed() {
    const std::string& text = input_.stream.text;
    const bool endless = input_.stream.kind == Stream::Kind::kEndless;
    if (!endless && input_.moved >= text.size()) return input_.ours.close();
    const std::size_t at = input_.moved % text.size();
    constexpr std::size_t kMorsel = 100;
    const std::size_t bytes = std::min(text.size() - at, input_.is_slow() ? kMorsel : text.size());
    const ssize_t written = ::write(input_.ours.get(), text.data() + at, bytes);
    if (written < 0 && errno != EAGAIN && errno != EINTR) return input_.ours.close();
    input_.moved += static_cast<std::uint64_t>(std::max<ssize_t>(written, 0));
    if (input_.is_slow()) input_.not_before = Clock::now() + std::chrono::milliseconds(2);
  }

  /// Takes what is in the pipe; leaves it for good where the plan says so.
  static void drain(Connection& connection, std::string& kept) {
    std::array<char, 65536> buffer{};
    while (connection.ours.open()) {
      std::size_t bytes = connection.is_slow() ? 512 : buffer.size();
      if (connection.stream.kind == Stream::Kind::kBroken)
        bytes = std::min<std::size_t>(bytes, connection.stream.bytes - connection.moved);
      const ssize_t got = ::read(connection.ours.get(), buffer.data(), bytes);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (got <= 0) return connection.ours.close();
      connection.moved += static_cast<std::uint64_t>(got);
      if (kept.size() < kKeptBytes) kept.append(buffer.data(), static_cast<std::size_t>(got));
      if (connection.stream.kind == Stream::Kind::kBroken && connection.moved >= connection.stream.bytes)
        return connection.ours.close();
      if (connection.is_slow()) {
        connection.not_before = Clock::now() + std::chrono::milliseconds(2);
        return;
      }
    }
  }

  /// Whether something short must not be missed.
  bool is_watched() const {
    return next_signal_ < plan_.signals.size() || (plan_.notes_beginning && !began_ && !supervisor_);
  }

  /// Whether the moment has come from which the signals count.
  bool moment_has_come(double now) {
    if (moment_) return true;
    const Moment& moment = plan_.signals_begin;
    if (moment.calls > 0 && supervisor_ && supervisor_->count() < moment.calls && now < moment.at_the_latest)
      return false;
    if (!began_ && moment.of_command && blocks_terminate(process_)) began_ = processor_seconds(process_);
    const double from = moment.of_command ? began_.value_or(std::numeric_limits<double>::infinity()) : 0;
    const bool is_early = processor_seconds(process_) < from + moment.processor_seconds;
    if (moment.calls == 0 && is_early && now < moment.at_the_latest) return false;
    moment_ = now;
    return true;
  }

  void send_due_signals() {
    const double now = seconds_since_start();
    if (next_signal_ >= plan_.signals.size() || !moment_has_come(now)) return;
    while (next_signal_ < plan_.signals.size() && *moment_ + plan_.signals[next_signal_].after_seconds <= now) {
      if (next_signal_ == 0 && plan_.seconds_after_signal) end_ = std::min(end_, now + *plan_.seconds_after_signal);
      outcome_.signalled = true;
      if (supervisor_) supervisor_->slow_down(0, plan_.slowness_after_signal);
      ::kill(process_, plan_.signals[next_signal_++].number);
    }
  }

  void reap(int options) {
    if (reaped_) return;
    if (!began_ && plan_.notes_beginning && blocks_terminate(process_)) began_ = processor_seconds(process_);
    int status = 0;
    rusage used{};
    if (::wait4(process_, &status, options, &used) != process_) return;
    reaped_ = true;
    outcome_.processor_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
    outcome_.began_after = began_.value_or(0);
    outcome_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    outcome_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

  void note_supervision() {
    if (!supervisor_) return;
    outcome_.supervisor_saw_start = supervisor_->started();
    outcome_.call_fault_fired = supervisor_->fired();
    outcome_.calls = supervisor_->counts();
    outcome_.peak_address_space = supervisor_->peak_address_space();
    supervisor_.reset();
  }

  const RunPlan& plan_;
  Connection input_;
  Connection output_;
  Connection error_;
  pid_t process_ = 0;
  Descriptor handle_;
  std::unique_ptr<CallSupervisor> supervisor_;
  Clock::time_point begin_;
  double own_wait_before_ = thread_wait("/proc/thread-self");
  double stolen_before_ = stolen_seconds();
  double end_ = plan_.seconds;  ///< when it is overdue, in seconds since the start
  std::size_t next_signal_ = 0;
  std::optional<double> began_;   ///< when its command began, in seconds of its processor time
  std::optional<double> moment_;  ///< from which the signals count, in seconds since the start
  bool reaped_ = false;
  bool gone_ = false;
  Outcome outcome_;
};

}  // namespace

Outcome run(const RunPlan& plan) {
  Outcome outcome = Process(plan).finish();
  if (outcome.status == kNotEnforced) throw std::runtime_error("the program could not be started as planned");
  return outcome;
}

}  // namespace dragoman::faults

#include "dragoman/core/process.h"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>

#include <dragoman/core/error.h>

namespace dragoman::core {
namespace {

using Clock = std::chrono::steady_clock;

/// The interval between two checks for a stop request.
constexpr auto kLookInterval = std::chrono::milliseconds(20);
/// The time for which output is read after the process has ended, if a descendant continues to write.
constexpr auto kMaxLastWords = std::chrono::seconds(1);

void require_done(int error, const char* what) {
  require(error == 0, ErrorCode::kIo, "cannot start a program: {}: {}", what, std::generic_category().message(error));
}

class PipeEnd {
 public:
  PipeEnd() = default;
  explicit PipeEnd(int descriptor) : descriptor_(descriptor) {}
  PipeEnd(const PipeEnd&) = delete;
  PipeEnd& operator=(const PipeEnd&) = delete;
  ~PipeEnd() { close(); }
  int get() const noexcept { return descriptor_; }
  void reset(int descriptor) {
    close();
    descriptor_ = descriptor;
  }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_ = -1;
};

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    require_done(::pipe2(ends.data(), O_CLOEXEC) == 0 ? 0 : errno, "pipe");
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  PipeEnd read;
  PipeEnd write;
};

/// Default signal handling, whatever this process blocks or ignores, and a separate process group.
class Attributes {
 public:
  Attributes() {
    require_done(posix_spawnattr_init(&attributes_), "attributes");
    sigset_t none;
    sigset_t usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGUSR2}) sigaddset(&usual, signal);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &usual);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  const posix_spawnattr_t* get() const noexcept { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

class FileActions {
 public:
  FileActions(const Pipe& output, const Pipe& errors) {
    require_done(posix_spawn_file_actions_init(&actions_), "file actions");
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output.write.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, errors.write.get(), STDERR_FILENO);
  }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// A running process, which is killed at the latest by the destructor.
class Child {
 public:
  Child(const std::vector<std::string>& arguments, const Pipe& output, const Pipe& errors) {
    // The shell searches for the program, so that this code need not know the search path.
    std::vector<std::string> words{"/bin/sh", "-c", "exec \"$@\"", "sh"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const FileActions actions(output, errors);
    const Attributes attributes;
    require_done(posix_spawn(&id_, words.front().c_str(), actions.get(), attributes.get(), pointers.data(), environ),
                 arguments.front().c_str());
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  /// Returns whether the process has ended.
  bool ended() {
    if (!ended_) ended_ = ::waitpid(id_, &status_, WNOHANG) == id_;
    return ended_;
  }
  /// Kills the rest of the process group.
  void end() {
    ::kill(-id_, SIGKILL);
    while (!ended_) ended_ = ::waitpid(id_, &status_, 0) == id_ || errno != EINTR;
  }
  int status() const noexcept { return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_); }

 private:
  pid_t id_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

/// Reads the available output. Closes the descriptor at its end.
void take(PipeEnd& from, std::string& text) {
  std::array<char, 65536> buffer{};
  const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
  if (n > 0)
    text.append(buffer.data(), static_cast<std::size_t>(n));
  else if (n == 0 || (errno != EINTR && errno != EAGAIN))
    from.close();
}

void keep_first(std::string& text, std::size_t most) {
  if (text.size() > most) text.resize(most);
}

void keep_last(std::string& text, std::size_t most) {
  if (text.size() > most) text.erase(0, text.size() - most);
}

/// Reads the output that arrives within kLookInterval. Returns false if none arrived.
bool read_for_a_while(PipeEnd& output, PipeEnd& errors, ProcessOutcome& outcome, std::size_t most) {
  std::array<pollfd, 2> waiting{pollfd{output.get(), POLLIN, 0}, pollfd{errors.get(), POLLIN, 0}};
  const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(kLookInterval.count()));
  if (ready <= 0) return ready < 0;  // interrupted
  if (waiting[0].revents != 0) take(output, outcome.output);
  if (waiting[1].revents != 0) take(errors, outcome.errors);
  keep_first(outcome.output, most);
  keep_last(outcome.errors, most);
  return true;
}

}  // namespace

ProcessOutcome run_process(const ProcessRequest& request) {
  require(!request.arguments.empty(), ErrorCode::kInvalidArgument, "a process needs the name of a program");
  ProcessOutcome outcome;
  Pipe output;
  Pipe errors;
  const auto deadline = Clock::now() + request.timeout;
  std::optional<Clock::time_point> last_words;
  Child child(request.arguments, output, errors);
  output.write.close();
  errors.write.close();
  while (output.read.get() >= 0 || errors.read.get() >= 0 || !child.ended()) {
    require(!request.stop.stop_requested(), ErrorCode::kInterrupted, "interrupted while '{}' was running",
            request.arguments.front());
    outcome.timed_out = Clock::now() >= deadline;
    if (outcome.timed_out) break;
    const bool ended = child.ended();
    if (ended && !last_words) last_words = Clock::now() + kMaxLastWords;
    const bool some_came = read_for_a_while(output.read, errors.read, outcome, request.most_output);
    // A descendant may keep the pipes open for ever, even outside the process group. The output of the process itself
    // is already in the pipes.
    if (ended) {
      child.end();
      if (!some_came || Clock::now() >= *last_words) break;
    }
  }
  child.end();
  outcome.status = child.status();
  return outcome;
}

std::string quote_for_shell(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace dragoman::core

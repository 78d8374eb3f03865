#pragma once

#include "test_data.h"

#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace dragoman::testing {

struct Outcome {
  int status = 0;      ///< exit status; 128 + N if signal N ended it
  std::string output;  ///< standard output
  std::string error;   ///< standard error
};

inline std::string file_content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Runs the program in `folder` through the shell: arguments may hold redirections.
inline Outcome run_dragoman(const std::filesystem::path& folder, const std::string& arguments) {
  const std::string command =
      "cd '" + folder.string() + "' && '" + built("program") + "' 2>stderr.txt >stdout.txt " + arguments;
  const int result = std::system(command.c_str());
  const int status = WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result);
  return {status, file_content(folder / "stdout.txt"), file_content(folder / "stderr.txt")};
}

/// Waits up to a minute, far more than anything here takes even on a busy machine; false if `condition` never held.
inline bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// A process that a test has started, which is killed with the object unless it has ended before.
class ChildProcess {
 public:
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void signal(int number) const { ::kill(pid_, number); }
  pid_t pid() const { return pid_; }
  std::string error() const { return file_content(error_file_); }
  /// The exit status as a shell gives it; -1 if the program does not end.
  int wait() {
    int result = 0;
    if (!eventually([&] { return ::waitpid(pid_, &result, WNOHANG) == pid_; })) return -1;
    pid_ = 0;
    return WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result);
  }

 protected:
  explicit ChildProcess(std::filesystem::path error_file) : error_file_(std::move(error_file)) {}
  ~ChildProcess() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  std::filesystem::path error_file_;
  pid_t pid_ = 0;
};

/// For a child: signals end it even where the tests were started with `&` or nohup, which ignore them.
inline void stop_ignoring_signals() {
  for (const int number : {SIGINT, SIGHUP, SIGTERM}) ::signal(number, SIG_DFL);
}

/// The program running in the background, started without a shell between, so that signals reach it and nothing else.
/// Its standard input is a pipe that stays open until close_input().
class BackgroundProgram : public ChildProcess {
 public:
  BackgroundProgram(const std::filesystem::path& folder, const std::vector<std::string>& arguments)
      : ChildProcess(folder / "background-stderr.txt") {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    std::string program = built("program");
    std::vector<char*> argv{program.data()};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      stop_ignoring_signals();
      ::dup2(pipe[0], STDIN_FILENO);
      ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
      ::dup2(::open(error_file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
      if (::chdir(folder.c_str()) == 0) ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(pipe[0]);
    input_ = pipe[1];
  }
  ~BackgroundProgram() { close_input(); }

  /// Returns false if the program has ended or closed its input. A signal for that would end all tests without a word.
  bool try_write(const std::string& text) const {
    const auto before = ::signal(SIGPIPE, SIG_IGN);
    const bool written = ::write(input_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::signal(SIGPIPE, before);
    return written;
  }
  void write(const std::string& text) const {
    if (!try_write(text)) throw std::runtime_error("the program reads no more input: " + error());
  }
  void close_input() {
    if (input_ >= 0) ::close(input_);
    input_ = -1;
  }

 private:
  int input_ = -1;
};

}  // namespace dragoman::testing

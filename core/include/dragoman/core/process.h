#pragma once

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::core {

struct ProcessRequest {
  /// The program and what it is told; the first is looked for as a shell does. Not empty.
  std::vector<std::string> arguments{};
  /// After which the process, and all that it has started, is killed.
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  /// The same as soon as it asks: run_process() then throws Error{kInterrupted}.
  std::stop_token stop{};
  /// Bytes that are kept of each output: the first ones of standard output, the last ones of standard error.
  std::size_t most_output = std::size_t{1} << 20;
};

struct ProcessOutcome {
  bool timed_out = false;
  /// Exit status; 128 and the signal's number if a signal ended it, as shells have it.
  int status = 0;
  std::string output{};
  std::string errors{};
};

/// Runs another program to its end, with an empty standard input and this process's environment, and collects what it
/// says. It is a process group of its own, so that Ctrl-C reaches this program alone, which then decides. What the
/// program has left running is killed when it ends. Error{kIo} if it cannot be started. Any thread.
ProcessOutcome run_process(const ProcessRequest& request);

/// `text` as one word of a POSIX shell.
std::string quote_for_shell(std::string_view text);

}  // namespace dragoman::core

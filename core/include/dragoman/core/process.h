#pragma once

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::core {

/// A program to run, with its limits.
struct ProcessRequest {
  /// The program and its arguments, not empty. The program is searched for as a shell does.
  std::vector<std::string> arguments{};
  /// The time limit, after which the process and all its descendants are killed.
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  /// A stop request also kills them; run_process() then throws Error{kInterrupted}.
  std::stop_token stop{};
  /// The number of bytes kept of each output: the first ones of standard output, the last ones of standard error.
  std::size_t most_output = std::size_t{1} << 20;
};

/// The result of a program that has ended.
struct ProcessOutcome {
  bool timed_out = false;
  /// The exit status, or 128 plus the signal's number if a signal ended the process, as in shells.
  int status = 0;
  std::string output{};
  std::string errors{};
};

/// Runs another program to its end and collects its output. The program gets an empty standard input and this process's
/// environment.
///
///     const auto outcome = run_process({.arguments = {"sort", "--version"}, .timeout = std::chrono::seconds(5)});
///     if (outcome.status == 0) std::cout << outcome.output;
///
/// It runs in a separate process group. Ctrl-C therefore reaches only this program, which decides what to do.
/// Descendants that are still running when the program ends are killed. Throws Error{kIo} if it cannot be started.
/// Thread-safe.
ProcessOutcome run_process(const ProcessRequest& request);

/// Returns `text` quoted as one word of a POSIX shell.
std::string quote_for_shell(std::string_view text);

}  // namespace dragoman::core

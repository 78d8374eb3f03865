#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::core {

enum class LogLevel { kInfo, kWarning };

/// Receives the library's messages; the library itself never prints. An empty sink drops them. Any thread that runs
/// library code may call it, but calls from one object that was given the sink do not overlap.
///
///     const LogSink sink = [](LogLevel level, std::string_view message) {
///       std::cerr << (level == LogLevel::kWarning ? "warning: " : "") << message << '\n';
///     };
///     log(sink, LogLevel::kInfo, "read 29000 pairs");
using LogSink = std::function<void(LogLevel, std::string_view message)>;

/// A snapshot of a long operation. Names are stable: they are the keys of `--progress json`.
struct Progress {
  std::string stage;        ///< "count words", "train", "translate", ...
  std::uint64_t done = 0;   ///< units finished
  std::uint64_t total = 0;  ///< units in all; 0 if unknown
  std::string unit;         ///< "lines", "bytes", "updates", ...
  /// Further figures to show: {"loss", 3.21}, {"tokens/s", 5400}, ...
  std::vector<std::pair<std::string, double>> figures;
  /// More figures, for programs only. People see only `figures`.
  std::vector<std::pair<std::string, double>> details = {};
};

/// Receives snapshots of progress. An empty sink drops them. Threads are as for LogSink.
///
///     const ProgressSink progress = [](const Progress& now) { std::cerr << now.stage << ' ' << now.done << '\n'; };
using ProgressSink = std::function<void(const Progress&)>;

/// Passes the snapshot to the sink, if there is one.
inline void report(const ProgressSink& sink, const Progress& progress) {
  if (sink) sink(progress);
}

/// Passes the message to the sink, if there is one.
inline void log(const LogSink& sink, LogLevel level, std::string_view message) {
  if (sink) sink(level, message);
}

}  // namespace dragoman::core

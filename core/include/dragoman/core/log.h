#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::core {

enum class LogLevel { kInfo, kWarning };

/// Where the library's messages go. The library itself never prints; an empty sink drops them. May be called from any
/// thread that runs library code, one call at a time per object that was given the sink.
using LogSink = std::function<void(LogLevel, std::string_view message)>;

/// A snapshot of a long operation. Names are stable: they are the keys of `--progress json`.
struct Progress {
  std::string stage;        ///< "count words", "train", "translate", ...
  std::uint64_t done = 0;   ///< units finished
  std::uint64_t total = 0;  ///< units in all; 0 if unknown
  std::string unit;         ///< "lines", "bytes", "updates", ...
  /// Further figures to show: {"loss", 3.21}, {"tokens/s", 5400}, ...
  std::vector<std::pair<std::string, double>> figures;
  /// More of them, for programs: people see only `figures`.
  std::vector<std::pair<std::string, double>> details = {};
};

using ProgressSink = std::function<void(const Progress&)>;

inline void report(const ProgressSink& sink, const Progress& progress) {
  if (sink) sink(progress);
}

inline void log(const LogSink& sink, LogLevel level, std::string_view message) {
  if (sink) sink(level, message);
}

}  // namespace dragoman::core

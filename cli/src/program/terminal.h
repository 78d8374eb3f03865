#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <dragoman/core/log.h>

namespace dragoman::cli {

enum class ProgressStyle { kBar, kLines, kJson, kNone };

/// Returns the style that `--progress` names; "auto" depends on whether standard error is a terminal. Throws UsageError
/// for other values.
ProgressStyle progress_style(const std::string& word);

/// Returns a line for a terminal of `width` columns: the stage, a bar, the progress, the seconds so far, the remaining
/// time at `rate` units per second, and the other figures that fit.
std::string progress_line(const core::Progress& progress, double elapsed, double rate, std::size_t width);

/// Writes messages and progress to standard error without mixing them, and escapes control characters in messages. It
/// is silent after standard error has failed. Thread-safe.
class Terminal {
 public:
  /// `stamps`: whether messages and lines of progress begin with the time, as logs of long runs do.
  explicit Terminal(ProgressStyle style, bool stamps = false)
      : style_(style), stamps_(stamps), last_report_(Clock::now()) {}
  void message(core::LogLevel level, std::string_view text);
  void show(const core::Progress& progress);
  /// Ends the line of a bar. With JSON, prints the last figures.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  bool due(const core::Progress& progress);
  void show_now(const core::Progress& progress);
  void put(std::string_view text);
  void erase_bar();
  std::string stamp() const;

  ProgressStyle style_;
  bool stamps_;
  std::mutex mutex_;
  std::string stage_;
  Clock::time_point stage_start_;
  /// The first time of each stage. An interrupted stage, such as training during a validation, continues from it.
  std::map<std::string, Clock::time_point, std::less<>> first_starts_;
  std::uint64_t stage_first_ = 0;
  Clock::time_point last_shown_;
  Clock::time_point last_report_;  ///< of any stage: the time at which the next one began
  std::optional<core::Progress> withheld_;
  bool bar_visible_ = false;
  bool reachable_ = true;  ///< whether standard error has accepted everything so far
};

}  // namespace dragoman::cli

#include "program/terminal.h"

#include "program/command.h"
#include "program/standard_streams.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::cli {
namespace {

std::string duration(double seconds) {
  const auto whole = static_cast<long>(std::lround(seconds));
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string short_number(double value) {
  if (std::fabs(value) >= 1e9) return fmt::format("{:.2f}G", value / 1e9);
  if (std::fabs(value) >= 1e6) return fmt::format("{:.2f}M", value / 1e6);
  if (std::fabs(value) >= 1e4) return fmt::format("{:.1f}k", value / 1e3);
  if (value == std::floor(value) || std::fabs(value) >= 100) return fmt::format("{:.0f}", value);
  return std::fabs(value) < 0.01 ? fmt::format("{:.3g}", value) : fmt::format("{:.3f}", value);
}

std::size_t terminal_width() {
  struct winsize size {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

/// Returns "[######--------------]".
std::string bar_of(double part) {
  constexpr std::size_t kWidth = 20;
  const auto done = static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * kWidth);
  return "[" + std::string(done, '#') + std::string(kWidth - done, '-') + "]";
}

/// The parts of a progress line, in the order of importance.
struct ProgressLine {
  std::string stage;
  std::string part{};  ///< "45%"; empty if the total is unknown
  std::string bar{};
  std::string count;
  std::vector<std::string> more{};

  std::string line() const { return text(more.size(), false); }
  std::string text(std::size_t with_more, bool with_bar) const {
    std::string line = stage;
    for (const std::string& word : {part, with_bar ? bar : std::string(), count})
      if (!word.empty()) line += " " + word;
    for (std::size_t i = 0; i < with_more; ++i) line += ", " + more[i];
    return line;
  }
  /// Returns the parts that fit into a line; less important ones are left out as a whole. The bar needs more room than
  /// any figure.
  std::string within(std::size_t width) const {
    constexpr std::size_t kFiguresBeforeBar = 2;
    const bool with_bar = text(std::min(more.size(), kFiguresBeforeBar), true).size() <= width;
    for (std::size_t count_shown = more.size();; --count_shown) {
      std::string line = text(count_shown, with_bar);
      if (line.size() <= width) return line;
      if (count_shown == 0) return core::printable(line, width);
    }
  }
};

ProgressLine describe(const core::Progress& progress, double elapsed, double rate) {
  ProgressLine line{.stage = progress.stage, .count = short_number(static_cast<double>(progress.done))};
  if (progress.total > 0) {
    const double part = static_cast<double>(progress.done) / static_cast<double>(progress.total);
    line.part = fmt::format("{:3.0f}%", 100 * std::min(1.0, part));
    line.bar = bar_of(part);
    line.count += "/" + short_number(static_cast<double>(progress.total));
  }
  line.count += " " + progress.unit;
  const auto add_figures = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, progress.figures.size()); ++i)
      line.more.push_back(fmt::format("{} {}", progress.figures[i].first, short_number(progress.figures[i].second)));
  };
  constexpr std::size_t kFiguresBeforeTimes = 2;
  add_figures(0, kFiguresBeforeTimes);
  line.more.push_back(duration(elapsed));
  if (progress.total > progress.done && rate > 0)
    line.more.push_back(fmt::format("ETA {}", duration(static_cast<double>(progress.total - progress.done) / rate)));
  if (rate > 0) line.more.push_back(fmt::format("{}/s", short_number(rate)));
  add_figures(kFiguresBeforeTimes, progress.figures.size());
  return line;
}

}  // namespace

std::string progress_line(const core::Progress& progress, double elapsed, double rate, std::size_t width) {
  return describe(progress, elapsed, rate).within(width);
}

namespace {

/// Returns the local time: "2026-11-26 04:05:06".
std::string time_stamp() {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr)));
}

std::string as_json(const core::Progress& progress, double elapsed, double rate) {
  nlohmann::ordered_json line{
      {"stage", progress.stage}, {"done", progress.done}, {"unit", progress.unit}, {"seconds", elapsed}};
  if (progress.total > 0) line["total"] = progress.total;
  if (rate > 0) line["rate"] = rate;
  for (const auto* figures : {&progress.figures, &progress.details})
    for (const auto& [name, value] : *figures) line[name] = value;
  return line.dump();
}

}  // namespace

ProgressStyle progress_style(const std::string& word) {
  if (word == "auto") return isatty(STDERR_FILENO) != 0 ? ProgressStyle::kBar : ProgressStyle::kLines;
  if (word == "json") return ProgressStyle::kJson;
  if (word == "none") return ProgressStyle::kNone;
  throw UsageError(fmt::format("--progress {}: must be auto, json or none", word));
}

std::string Terminal::stamp() const {
  return stamps_ ? time_stamp() + " " : std::string();
}

void Terminal::put(std::string_view text) {
  reachable_ = reachable_ && write_to_standard_error(text);
}

void Terminal::erase_bar() {
  if (bar_visible_) put("\r\x1b[K");
  bar_visible_ = false;
}

void Terminal::message(core::LogLevel level, std::string_view text) {
  const std::lock_guard lock(mutex_);
  erase_bar();
  if (style_ == ProgressStyle::kJson) {
    nlohmann::ordered_json line{{level == core::LogLevel::kWarning ? "warning" : "message", text}};
    if (stamps_) line["time"] = time_stamp();
    put(line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  } else {
    put(fmt::format("{}{}{}\n", stamp(), level == core::LogLevel::kWarning ? "dragoman: warning: " : "",
                    core::printable(text, core::Error::kLongestMessage)));
  }
}

bool Terminal::due(const core::Progress& progress) {
  const auto now = Clock::now();
  const auto before = std::exchange(last_report_, now);
  if (progress.stage != stage_) {
    stage_ = progress.stage;
    stage_start_ = now;
    first_starts_.try_emplace(stage_, before);
    stage_first_ = progress.done;
    last_shown_ = now;
    return style_ == ProgressStyle::kBar;
  }
  const auto interval =
      style_ == ProgressStyle::kBar ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10000);
  const bool complete = progress.total > 0 && progress.done >= progress.total;
  if (!complete && now - last_shown_ < interval) return false;
  last_shown_ = now;
  return true;
}

void Terminal::show(const core::Progress& progress) {
  const std::lock_guard lock(mutex_);
  if (style_ == ProgressStyle::kNone) return;
  if (due(progress)) return show_now(progress);
  if (style_ == ProgressStyle::kJson) withheld_ = progress;
}

void Terminal::show_now(const core::Progress& progress) {
  withheld_.reset();
  const auto seconds_since = [now = Clock::now()](Clock::time_point start) {
    return std::chrono::duration<double>(now - start).count();
  };
  const double elapsed = seconds_since(first_starts_[stage_]);
  const double counted = seconds_since(stage_start_);
  const double rate =
      counted > 0.05 ? static_cast<double>(progress.done - std::min(progress.done, stage_first_)) / counted : 0;
  switch (style_) {
    case ProgressStyle::kBar:
      put(fmt::format("\r{}\x1b[K", progress_line(progress, elapsed, rate, terminal_width() - 1)));
      bar_visible_ = true;
      break;
    case ProgressStyle::kLines:
      put(stamp() + describe(progress, elapsed, rate).line() + "\n");
      break;
    case ProgressStyle::kJson:
      put(as_json(progress, elapsed, rate) + "\n");
      break;
    case ProgressStyle::kNone:
      break;
  }
}

void Terminal::finish() {
  const std::lock_guard lock(mutex_);
  if (bar_visible_) put("\n");
  bar_visible_ = false;
  if (withheld_) show_now(core::Progress(*withheld_));
}

}  // namespace dragoman::cli

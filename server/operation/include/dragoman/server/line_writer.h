#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace dragoman::server {

/// Passes lines to a sink in a separate thread, so that a slow sink, such as a full pipe, blocks no caller. At most
/// kMaxBytes wait. Further lines are dropped, and their number is written when there is room. Thread-safe.
class LineWriter {
 public:
  static constexpr std::size_t kMaxBytes = 1024 * 1024;

  /// `sink` receives one or more whole lines.
  explicit LineWriter(std::function<void(std::string_view lines)> sink);
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;
  /// Writes what waits.
  ~LineWriter();

  /// `line` has no line feed.
  void write(std::string_view line);

 private:
  void run();

  std::function<void(std::string_view)> sink_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  std::uint64_t dropped_ = 0;
  bool ended_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace dragoman::server

#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::server {

/// Counts requests, and writes them and other figures as Prometheus reads them (text format 0.0.4). Labels are routes
/// and classes of status, so their number does not grow with clients. Thread-safe after the last add().
class Metrics {
 public:
  /// Upper bounds of the histogram of seconds.
  static constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                         0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0};

  enum class Kind { kGauge, kCounter };

  /// Adds a figure. `value` is called whenever the metrics are read.
  void add(std::string name, Kind kind, std::string help, std::function<double()> value);
  /// Counts an answer. `route` is the pattern of a route, or "other".
  void count_request(std::string_view route, int status, std::chrono::duration<double> time);
  /// Counts a request that was refused for one of the server's own reasons.
  void count_refusal(std::string_view reason);
  std::string text() const;

 private:
  struct RouteFigures {
    std::array<std::uint64_t, 6> by_class{};  ///< of status: 1xx to 5xx, and 0
    std::array<std::uint64_t, kBounds.size()> by_time{};
    std::uint64_t count = 0;
    double seconds = 0;
  };
  struct Figure {
    std::string name;
    Kind kind;
    std::string help;
    std::function<double()> value;
  };

  std::vector<Figure> figures_;
  mutable std::mutex mutex_;
  std::map<std::string, RouteFigures, std::less<>> routes_;
  std::map<std::string, std::uint64_t, std::less<>> refusals_;
};

}  // namespace dragoman::server

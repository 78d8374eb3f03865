#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace dragoman::server {

/// A request for the log. Empty members are left out.
struct AccessRecord {
  std::chrono::system_clock::time_point time{};
  std::string_view method{};
  std::string_view route{};  ///< the pattern, or "other"
  int status = 0;
  double seconds = 0;
  std::size_t bytes_in = 0;
  std::size_t bytes_out = 0;
  bool gone = false;  ///< whether the client had left, or the deadline had passed
  std::string_view key{};
  std::string_view address{};
  std::string_view reason{};
  // Only if the operator asks for texts:
  std::string_view path{};
  std::string_view request{};
  std::string_view answer{};
};

/// Returns a JSON object in one line.
std::string access_line(const AccessRecord& record);

}  // namespace dragoman::server

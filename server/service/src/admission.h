#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <dragoman/server/translation_service.h>

namespace dragoman::server {

/// Counts the characters of unfinished requests, and refuses requests beyond a bound. Thread-safe.
class Admission {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Admission(std::size_t most) : most_(most) {}

  /// Returns what the texts count for.
  static std::size_t weight(const std::vector<std::string>& texts);

  /// Throws Busy if there is no room now, and Error{kBadInput} if there never is.
  void enter(std::size_t weight, Clock::time_point now = Clock::now());
  void leave(std::size_t weight);

  void describe(ServiceLoad& load) const;

 private:
  std::chrono::seconds wait_for(std::size_t weight, Clock::time_point now) const;

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::size_t inside_ = 0;
  std::size_t requests_ = 0;
  std::uint64_t requests_done_ = 0;
  std::uint64_t characters_done_ = 0;
  std::uint64_t refused_ = 0;
  /// Since the service was idle for the last time.
  Clock::time_point busy_since_{};
  std::size_t done_since_ = 0;
};

}  // namespace dragoman::server

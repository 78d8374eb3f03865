#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>

#include <dragoman/core/hash_tables.h>

namespace dragoman::server {

/// Limits how often each caller may do something. A caller's bucket holds the tokens of a minute, and fills evenly.
/// Memory is bounded: if there are too many callers, the one that was away for longest is forgotten. Thread-safe.
class TokenBuckets {
 public:
  using Clock = std::chrono::steady_clock;

  explicit TokenBuckets(std::size_t most_callers) : most_callers_(most_callers) {}

  /// Takes a token. Returns zero if there was one, otherwise the time until there will be one.
  Clock::duration take(std::string_view caller, int per_minute, Clock::time_point now = Clock::now());
  std::size_t size() const;

 private:
  struct Bucket {
    std::string caller;
    double tokens;
    Clock::time_point filled;
  };

  const std::size_t most_callers_;
  mutable std::mutex mutex_;
  std::list<Bucket> buckets_;  ///< the last used one first
  core::TextViewMap<std::list<Bucket>::iterator> by_caller_;
};

}  // namespace dragoman::server

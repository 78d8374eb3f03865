#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/hash_tables.h>
#include <dragoman/server/translation_service.h>

namespace dragoman::server {

/// Counts the characters of unfinished requests, and refuses requests beyond a bound. Thread-safe.
class Admission {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Admission(std::size_t most) : most_(most) {}

  /// Returns the number of characters of a text in UTF-8.
  static std::size_t characters(std::string_view text) noexcept;

  /// Returns what the texts count for.
  static std::size_t weight(const std::vector<std::string>& texts);

  /// Returns what a request counts for: its memory and its work grow with its translations, and alignments have a value
  /// for each pair of tokens.
  static std::size_t weight(const TranslateRequest& request, std::int32_t translations);

  /// Throws Busy if there is no room now, and Error{kBadInput} if there never is. The unfinished requests of one caller
  /// have at most three quarters of the room, so that others get in. "": a caller without this bound.
  void enter(std::size_t weight, Clock::time_point now = Clock::now(), const std::string& caller = {});
  /// `characters` is the number of characters that were translated.
  void leave(std::size_t weight, std::size_t characters, const std::string& caller = {});

  void describe(ServiceLoad& load) const;

 private:
  std::chrono::seconds wait_for(std::size_t excess, Clock::time_point now) const;
  std::size_t most_of(const std::string& caller) const;

  const std::size_t most_;
  mutable std::mutex mutex_;
  core::TextMap<std::size_t> by_caller_;
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

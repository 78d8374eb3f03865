#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace dragoman::server {

/// Translated files that wait for their download, in memory. Their names cannot be guessed. When they have too many
/// bytes together (512 for each, and those of its content), the oldest go first. Thread-safe.
class FileStore {
 public:
  using Clock = std::chrono::steady_clock;

  FileStore(std::size_t most_bytes, Clock::duration most_age) : most_bytes_(most_bytes), most_age_(most_age) {}

  /// Keeps a file and returns its name in the store: a random part and the safe characters of `name`. BadRequest with
  /// status 413 for a file that has no room even alone.
  std::string put(std::string_view name, std::string content, Clock::time_point now = Clock::now());
  /// Returns the content of a file; nullopt if there is none of this name, or no longer.
  std::optional<std::string> get(std::string_view stored_name, Clock::time_point now = Clock::now());
  /// Returns whether put() may have returned this name.
  static bool is_name(std::string_view stored_name) noexcept;
  /// Returns the name without its random part.
  static std::string download_name(std::string_view stored_name);

 private:
  struct File {
    std::string name;
    std::string content;
    Clock::time_point kept;
  };

  void drop_old(Clock::time_point now);
  void drop_oldest();

  const std::size_t most_bytes_;
  const Clock::duration most_age_;
  std::mutex mutex_;
  std::list<File> files_;  ///< oldest first
  std::size_t bytes_ = 0;
};

}  // namespace dragoman::server

#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>

#include <dragoman/core/error.h>

namespace dragoman::pipeline {

/// FNV-1a (Fowler, Noll, Vo; 64 bits) of all that came before and of one more line with its LF. Tells another input
/// from the same one; no protection against somebody who looks for collisions.
inline std::uint64_t hash_line(std::uint64_t before, std::string_view line) {
  constexpr std::uint64_t kPrime = 0x100000001B3;
  for (const char c : line) before = (before ^ static_cast<unsigned char>(c)) * kPrime;
  return (before ^ static_cast<unsigned char>('\n')) * kPrime;
}
inline constexpr std::uint64_t kHashOfNoLines = 0xCBF29CE484222325;

/// The input up to and with one of its lines.
struct InputPoint {
  std::uint64_t lines = 0;
  std::uint64_t hash = kHashOfNoLines;  ///< by hash_line()
  std::uint64_t bytes = 0;              ///< of the file on disk, roughly
};

/// What the reader knows about each line that is on its way to the writer. Records keep their order from end to end, so
/// the writer's n-th is the reader's n-th. The reader and the writer may be two threads.
class InputTrail {
 public:
  void add(const InputPoint& point) {
    const std::lock_guard lock(mutex_);
    points_.push_back(point);
  }
  InputPoint take() {
    const std::lock_guard lock(mutex_);
    core::require(!points_.empty(), core::ErrorCode::kInternal, "a stage handed on more records than it was given");
    const InputPoint point = points_.front();
    points_.pop_front();
    return point;
  }
  /// The input has so many lines.
  void end(std::uint64_t lines) {
    const std::lock_guard lock(mutex_);
    lines_ = lines;
  }
  std::optional<std::uint64_t> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::deque<InputPoint> points_;
  std::optional<std::uint64_t> lines_;
};

}  // namespace dragoman::pipeline

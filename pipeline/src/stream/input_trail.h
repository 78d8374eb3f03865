#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include <dragoman/core/error.h>
#include <dragoman/pipeline/input_notes.h>

namespace dragoman::pipeline {

/// The reader's information about each line on its way to the writer. Records keep their order from end to end, so the
/// writer's n-th record is the reader's n-th. The reader and the writer may be two threads.
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
  /// Sets the number of lines of the input.
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

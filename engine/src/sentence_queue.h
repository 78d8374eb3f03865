#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace dragoman::engine {

/// A sentence that may be handed to a worker.
struct WaitingSentence {
  std::size_t length;  ///< in tokens
  std::uint64_t id;
};

/// Sentences in the order in which workers get them: in windows of consecutive ones, longest first within a window, so
/// that those decoded together have about the same length. Results are handed on in the order of the input, so the
/// first may have to wait for the last of its window: windows begin small and grow only while one takes less than
/// kWindowTime. Not thread-safe.
class SentenceQueue {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kSmallest = 64;
  static constexpr std::size_t kLargest = 2048;
  static constexpr std::chrono::milliseconds kWindowTime{1000};

  explicit SentenceQueue(std::function<Clock::time_point()> now = &Clock::now) : now_(std::move(now)) {}

  bool empty() const { return window_.empty() && later_.empty(); }
  void push(const WaitingSentence& sentence) { later_.push_back(sentence); }
  /// The id of the next sentence; there must be one.
  std::uint64_t pop() {
    if (window_.empty()) open_window();
    const std::uint64_t id = window_.back().id;
    window_.pop_back();
    return id;
  }

 private:
  void open_window() {
    adapt_size();
    opened_size_ = std::min(size_, later_.size());
    const auto end = later_.begin() + static_cast<std::ptrdiff_t>(opened_size_);
    window_.assign(later_.begin(), end);
    later_.erase(later_.begin(), end);
    // The next one stands last; of equally long ones it is the first to come.
    std::sort(window_.begin(), window_.end(), [](const WaitingSentence& a, const WaitingSentence& b) {
      return a.length != b.length ? a.length < b.length : a.id > b.id;
    });
    opened_ = now_();
  }

  /// As many as the workers took in kWindowTime at their last pace, and at most twice as many as before.
  void adapt_size() {
    if (opened_size_ < size_) return;  // it was not full, since the input is slow or this is the first
    const std::chrono::duration<double> taken = now_() - opened_;
    const double pace = static_cast<double>(size_) / std::max(taken.count(), 1e-6);
    const double wanted =
        std::min(pace * std::chrono::duration<double>(kWindowTime).count(), 2 * static_cast<double>(size_));
    size_ = std::clamp(static_cast<std::size_t>(wanted), kSmallest, kLargest);
  }

  std::function<Clock::time_point()> now_;
  std::deque<WaitingSentence> later_;
  std::vector<WaitingSentence> window_;
  std::size_t size_ = kSmallest;
  std::size_t opened_size_ = 0;
  Clock::time_point opened_;
};

}  // namespace dragoman::engine

#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

namespace dragoman::engine {

/// The order in which workers get sentences. Sentences are taken in windows of consecutive ones, longest first within a
/// window, so that sentences of similar length are decoded together. Results are delivered in input order, so the first
/// result may have to wait for the last one of its window. Therefore windows start small, and grow only while a window
/// takes less than kWindowTime. Not thread-safe. `Item` represents a sentence; its move operations must not throw.
template <class Item>
class SentenceQueue {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kSmallest = 64;
  static constexpr std::size_t kLargest = 2048;
  static constexpr std::chrono::milliseconds kWindowTime{1000};

  explicit SentenceQueue(std::function<Clock::time_point()> now = &Clock::now) : now_(std::move(now)) {}

  bool empty() const noexcept { return waiting_.empty(); }
  /// `length` is in tokens.
  void push(std::size_t length, Item item) { waiting_.push_back({length, pushed_++, std::move(item)}); }
  /// Returns the next sentence; the queue must not be empty. Does not allocate, so that a sentence cannot be lost.
  Item pop() noexcept {
    if (window_left_ == 0) open_window();
    --window_left_;
    Item next = std::move(waiting_.front().item);
    waiting_.pop_front();
    return next;
  }

 private:
  struct Waiting {
    std::size_t length;
    std::uint64_t number;  ///< in the order of push()
    Item item;
  };

  void open_window() noexcept {
    adapt_size();
    window_size_ = window_left_ = std::min(size_, waiting_.size());
    std::sort(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(window_size_),
              [](const Waiting& a, const Waiting& b) {
                return a.length != b.length ? a.length > b.length : a.number < b.number;
              });
    opened_ = now_();
  }

  /// Sets the size to the number of sentences that the workers took in kWindowTime at their last pace, but at most
  /// doubles it.
  void adapt_size() noexcept {
    if (window_size_ < size_) return;  // it was not full, since the input is slow or this is the first
    const std::chrono::duration<double> taken = now_() - opened_;
    const double pace = static_cast<double>(size_) / std::max(taken.count(), 1e-6);
    const double wanted =
        std::min(pace * std::chrono::duration<double>(kWindowTime).count(), 2 * static_cast<double>(size_));
    size_ = std::clamp(static_cast<std::size_t>(wanted), kSmallest, kLargest);
  }

  std::function<Clock::time_point()> now_;
  /// The open window and what comes after it.
  std::deque<Waiting> waiting_;
  std::uint64_t pushed_ = 0;
  std::size_t size_ = kSmallest;  ///< size of the next window
  std::size_t window_size_ = 0;   ///< initial size of the open window
  std::size_t window_left_ = 0;
  Clock::time_point opened_;
};

}  // namespace dragoman::engine

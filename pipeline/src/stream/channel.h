#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace dragoman::pipeline {

/// A queue between threads, bounded by the weight (bytes) of its items, so that memory does not grow with the file. One
/// item always fits, whatever its weight. First in, first out.
template <class T>
class Channel {
 public:
  explicit Channel(std::size_t limit) : limit_(limit) {}

  /// Waits for room. Returns false, and drops the item, if the channel was aborted.
  bool push(T item, std::size_t weight) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return aborted_ || items_.empty() || weight_ + weight <= limit_; });
    if (aborted_) return false;
    weight_ += weight;
    items_.emplace_back(std::move(item), weight);
    ready_.notify_one();
    return true;
  }

  /// Waits for an item. Returns nullopt if the channel is closed and empty, or aborted.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return aborted_ || closed_ || !items_.empty(); });
    if (aborted_ || items_.empty()) return std::nullopt;
    return take();
  }

  /// Returns an item if there is one; never waits.
  std::optional<T> try_pop() {
    std::unique_lock lock(mutex_);
    if (aborted_ || items_.empty()) return std::nullopt;
    return take();
  }

  /// Declares that no more items will be pushed.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    ready_.notify_all();
  }

  /// Wakes all waiting threads after an error.
  void abort() {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    ready_.notify_all();
    room_.notify_all();
  }

 private:
  /// Under the lock; there must be an item.
  T take() {
    T item = std::move(items_.front().first);
    weight_ -= items_.front().second;
    items_.pop_front();
    room_.notify_all();
    return item;
  }

  std::size_t limit_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable room_;
  std::deque<std::pair<T, std::size_t>> items_;
  std::size_t weight_ = 0;
  bool closed_ = false;
  bool aborted_ = false;
};

}  // namespace dragoman::pipeline

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace dragoman::pipeline {

/// Returns items that finish in any order in the order of their tickets 0, 1, 2, ... Not thread-safe: the owner locks.
template <class T>
class ReorderBuffer {
 public:
  void put(std::uint64_t ticket, T item) { waiting_.emplace(ticket, std::move(item)); }
  /// Returns whether the next item in order is available.
  bool ready() const { return !waiting_.empty() && waiting_.begin()->first == next_; }
  T take() {
    T item = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    ++next_;
    return item;
  }
  std::size_t size() const { return waiting_.size(); }

 private:
  std::map<std::uint64_t, T> waiting_;
  std::uint64_t next_ = 0;
};

}  // namespace dragoman::pipeline

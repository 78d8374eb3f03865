#pragma once

#include <atomic>
#include <mutex>
#include <optional>

namespace dragoman::core {

/// A value that is computed at the first call of get(). Thread-safe: while one thread computes it, others wait. If
/// `make` throws, the next call tries again.
///
///     const Lazy<std::string> greeting;
///     std::cout << greeting.get([] { return "Guten Morgen!"; });
///
/// This is not std::call_once, because a call after one that threw can wait for ever: under ThreadSanitizer, and on
/// some platforms of GCC (bug 66146).
template <class T>
class Lazy {
 public:
  template <class Make>
  const T& get(Make&& make) const {
    if (!made_.load(std::memory_order_acquire)) {
      const std::scoped_lock lock(mutex_);
      if (!value_) value_.emplace(make());
      made_.store(true, std::memory_order_release);
    }
    return *value_;
  }

 private:
  mutable std::atomic<bool> made_ = false;
  mutable std::mutex mutex_;
  mutable std::optional<T> value_;
};

}  // namespace dragoman::core

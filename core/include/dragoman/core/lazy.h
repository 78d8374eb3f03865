#pragma once

#include <atomic>
#include <mutex>
#include <optional>

namespace dragoman::core {

/// A value that is made when it is first asked for. Thread-safe: others wait while one makes it. If making throws, the
/// next call tries again. (Not std::call_once: where ThreadSanitizer stands between, and on some platforms of GCC, bug
/// 66146, a call after one that threw waits for ever.)
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

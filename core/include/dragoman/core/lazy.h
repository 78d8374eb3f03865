#pragma once

#include <mutex>
#include <optional>

namespace dragoman::core {

/// A value that is made when it is first asked for. Thread-safe: others wait while one makes it. If making throws, the
/// next call tries again.
template <class T>
class Lazy {
 public:
  template <class Make>
  const T& get(Make&& make) const {
    std::call_once(once_, [&] { value_.emplace(make()); });
    return *value_;
  }

 private:
  mutable std::once_flag once_;
  mutable std::optional<T> value_;
};

}  // namespace dragoman::core

#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <stop_token>

namespace dragoman::python {

/// The submitted work that is not finished. At the end of the interpreter it is stopped and waited for, since its
/// threads call Python. Thread-safe.
class Unfinished {
 public:
  /// Returns the key for remove(). Error{kInterrupted} if the interpreter is ending.
  std::uint64_t add(const std::stop_source& stop);
  void remove(std::uint64_t key);
  /// Stops everything and waits for it.
  void close();
  /// For the child of a fork, where nobody finishes the work of the parent.
  void forget();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, std::stop_source> stops_;
  std::uint64_t last_ = 0;
  bool closed_ = false;
};

Unfinished& unfinished();

}  // namespace dragoman::python

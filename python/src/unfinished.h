#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <stop_token>

namespace dragoman::python {

/// The submitted work that is not finished. At the end of the interpreter it is stopped and waited for, since its
/// threads call Python. Thread-safe.
class Unfinished {
 public:
  /// Returns the key for remove(). `bytes` is about what the work holds of a queue. Error{kInterrupted} if the
  /// interpreter is ending.
  std::uint64_t add(const std::stop_source& stop, std::size_t bytes = 0);
  /// Returns the bytes of all unfinished work.
  std::size_t bytes() const;
  void remove(std::uint64_t key);
  /// Stops everything and waits for it.
  void close();
  bool closed() const;
  /// For the child of a fork, where nobody finishes the work of the parent.
  void forget();

 private:
  struct Work {
    std::stop_source stop;
    std::size_t bytes;
  };

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Work> all_;
  std::size_t bytes_ = 0;
  std::uint64_t last_ = 0;
  bool closed_ = false;
};

Unfinished& unfinished();

/// Registers work for the lifetime of this object.
class UnfinishedGuard {
 public:
  explicit UnfinishedGuard(const std::stop_source& stop) : key_(unfinished().add(stop)) {}
  ~UnfinishedGuard() { unfinished().remove(key_); }
  UnfinishedGuard(const UnfinishedGuard&) = delete;
  UnfinishedGuard& operator=(const UnfinishedGuard&) = delete;

 private:
  std::uint64_t key_;
};

}  // namespace dragoman::python

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <dragoman/core/parallel.h>

namespace dragoman::tokenizer {

/// The threads that process a corpus.
class ThreadArena {
 public:
  /// `threads` is as for core::make_executor().
  explicit ThreadArena(int threads) : executor_(core::make_executor(threads)) {}

  int threads() const { return executor_->threads(); }
  core::Executor& executor() { return *executor_; }
  /// Calls body(i) for each i in [0, count) on all threads.
  template <class Body>
  void for_each(std::size_t count, Body&& body) {
    executor_->for_each(static_cast<std::int64_t>(count), [&](std::int64_t i) { body(static_cast<std::size_t>(i)); });
  }

 private:
  std::unique_ptr<core::Executor> executor_;
};

/// Objects of which a thread needs one while it processes a block. Their number is at most the number of concurrent
/// threads. The most recently released object is used first, since it is still in a cache. Thread-safe.
template <class T>
class OnePerThread {
 public:
  /// Calls body(object) with an object that no other thread uses. If none is free, make() creates one.
  template <class Make, class Body>
  decltype(auto) with(Make&& make, Body&& body) {
    struct Lease {
      OnePerThread* pool;
      std::unique_ptr<T> object;
      ~Lease() {
        const std::lock_guard lock(pool->mutex_);
        pool->free_.push_back(std::move(object));  // the capacity was reserved in take()
      }
    };
    const Lease lease{this, take(make)};
    return body(*lease.object);
  }  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): the pool owns the object
  /// Returns all objects. Call it only when no thread uses one.
  const std::vector<std::unique_ptr<T>>& all() const { return free_; }
  std::vector<std::unique_ptr<T>>& all() { return free_; }

 private:
  template <class Make>
  std::unique_ptr<T> take(Make&& make) {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<T> object = std::move(free_.back());
        free_.pop_back();
        return object;
      }
      free_.reserve(++made_);
    }
    return std::make_unique<T>(make());
  }

  std::mutex mutex_;
  std::size_t made_ = 0;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace dragoman::tokenizer

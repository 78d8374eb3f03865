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

/// The threads of one piece of work on a corpus.
class ThreadArena {
 public:
  /// As core::make_executor().
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

/// Objects of which a thread needs one while it works on a block: as many are made as are at work at the same time. The
/// one that was given back last comes first, since it is still in a cache. Thread-safe.
template <class T>
class OnePerThread {
 public:
  /// Calls body(object) with one that nobody else has, made by make() if there is none.
  template <class Make, class Body>
  decltype(auto) with(Make&& make, Body&& body) {
    struct Lease {
      OnePerThread* pool;
      std::unique_ptr<T> object;
      ~Lease() {
        const std::lock_guard lock(pool->mutex_);
        pool->free_.push_back(std::move(object));  // has room: see take()
      }
    };
    const Lease lease{this, take(make)};
    return body(*lease.object);
  }
  /// All of them, when nobody works.
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

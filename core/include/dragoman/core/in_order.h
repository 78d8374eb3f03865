#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include <dragoman/core/parallel.h>

namespace dragoman::core {

/// Work on a stream: items are read one after the other, processed several at a time, and their results are written in
/// the order of reading.
///
///     process_in_order<Chunk, std::string>(executor, stop, read, process, write);
///
/// `read()` gives the next item, or nothing at the end; `process(item)` turns it into a result, at the same time for
/// several items; `write(result)` may say `false`: nobody takes more, which ends the run without an error. Reading and
/// writing are each done by one thread at a time. A result is written as soon as it is its turn, even while read()
/// waits for more. At most 2 * executor.threads() items are under way.
///
/// The first exception of any of the three ends the run and reaches the caller. `stop` is requested then, so that a
/// read() that waits with its token ends too.
template <class Item, class Result, class Read, class Process, class Write>
class InOrder {
 public:
  InOrder(Executor& executor, std::stop_source stop, Read& read, Process& process, Write& write)
      : executor_(executor), stop_(std::move(stop)), read_(read), process_(process), write_(write) {}

  void run() {
    executor_.for_each(executor_.threads(), [&](std::int64_t) { work(); });
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void work() {
    try {
      while (std::optional<std::pair<std::uint64_t, Item>> next = take()) {
        Result result = process_(next->second);
        hand_on(next->first, std::move(result));
      }
    } catch (...) {
      end(std::current_exception());
    }
  }

  /// The next item with its number.
  std::optional<std::pair<std::uint64_t, Item>> take() {
    const std::lock_guard reading(read_mutex_);
    {
      const auto most = 2 * static_cast<std::uint64_t>(executor_.threads());
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return ended_ || read_count_ - written_count_ < most; });
      if (ended_) return std::nullopt;
    }
    std::optional<Item> item = read();
    const std::lock_guard lock(mutex_);
    if (!item) ended_ = true;
    if (ended_) return std::nullopt;
    return std::pair(read_count_++, std::move(*item));
  }

  /// Who has failed to read is not asked to read again: the run has ended before another thread gets its turn.
  std::optional<Item> read() {
    try {
      return read_();
    } catch (...) {
      end(std::current_exception());
      return std::nullopt;
    }
  }

  /// Writes the result if it is its turn, and those that waited for it; else leaves it to whoever writes the one
  /// before.
  void hand_on(std::uint64_t number, Result result) {
    std::unique_lock lock(mutex_);
    waiting_.emplace(number, std::move(result));
    if (writing_) return;
    writing_ = true;
    while (!failed_ && !waiting_.empty() && waiting_.begin()->first == written_count_) {
      Result next = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      lock.unlock();
      const bool more = write_(std::move(next));
      lock.lock();
      ++written_count_;
      if (!more) failed_ = ended_ = true;
      room_.notify_all();
    }
    writing_ = false;
    if (failed_) {
      lock.unlock();
      stop_.request_stop();
    }
  }

  void end(std::exception_ptr error) {
    {
      const std::lock_guard lock(mutex_);
      if (!failed_) error_ = std::move(error);
      failed_ = ended_ = true;
      room_.notify_all();
    }
    stop_.request_stop();
  }

  Executor& executor_;
  std::stop_source stop_;
  Read& read_;
  Process& process_;
  Write& write_;
  std::mutex read_mutex_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::map<std::uint64_t, Result> waiting_;
  std::uint64_t read_count_ = 0;
  std::uint64_t written_count_ = 0;
  bool writing_ = false;
  bool ended_ = false;   ///< nothing more is read
  bool failed_ = false;  ///< nothing more is written
  std::exception_ptr error_;
};

template <class Item, class Result, class Read, class Process, class Write>
void process_in_order(Executor& executor, const std::stop_source& stop, Read&& read, Process&& process, Write&& write) {
  InOrder<Item, Result, Read, Process, Write>(executor, stop, read, process, write).run();
}

}  // namespace dragoman::core

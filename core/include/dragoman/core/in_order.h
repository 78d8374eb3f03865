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

/// Processes a stream of items in parallel and writes the results in the order of reading.
///
///     LineReader lines("corpus.de");                  // file.h
///     const auto read = [&] {
///       std::string line;
///       return lines.next(line) ? std::optional(line) : std::nullopt;
///     };
///     const auto process = [](const std::string& line) { return line.size(); };
///     const auto write = [](std::size_t bytes) { return static_cast<bool>(std::cout << bytes << '\n'); };
///     process_in_order<std::string, std::size_t>(*make_executor(4), {}, read, process, write);
///
/// - `read()` returns the next item, or nullopt at the end. One thread at a time calls it.
/// - `process(item)` returns the result. Several threads call it at the same time.
/// - `write(result)` returns false if no further results are needed. This ends the run without an error. One thread at
///   a time calls it.
///
/// A result is written as soon as all earlier ones are, even while read() waits for input. At most 2 *
/// executor.threads() items are in flight.
///
/// The first exception from any of the three functions ends the run and is rethrown to the caller. The run then
/// requests `stop`, so that a read() that waits with its token ends too.
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

  /// Reads the next item and numbers it.
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

  /// Calls read_(). If it throws, the run has ended before another thread can call it again.
  std::optional<Item> read() {
    try {
      return read_();
    } catch (...) {
      end(std::current_exception());
      return std::nullopt;
    }
  }

  /// Writes this result and the waiting ones that follow it, if it is the next one. Otherwise the thread that writes
  /// the previous result will write it.
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

/// Processes a stream of items; see InOrder.
template <class Item, class Result, class Read, class Process, class Write>
void process_in_order(Executor& executor, const std::stop_source& stop, Read&& read, Process&& process, Write&& write) {
  InOrder<Item, Result, Read, Process, Write>(executor, stop, read, process, write).run();
}

}  // namespace dragoman::core

#pragma once

#include "job.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include <boost/intrusive/list.hpp>

namespace dragoman::server {

/// The thread of a service: it submits the sentences of all jobs, which take turns, and calls their callbacks. A job
/// that runs out of memory fails; the others go on. Therefore giving a turn allocates nothing.
class Scheduler {
 public:
  Scheduler();
  /// Stops all jobs and waits for them.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Any thread. `done` is called once the job is over, from the scheduler's thread.
  void add(TranslateRequest request, TranslationService::Done done, JobSetting setting);
  std::size_t sentences_in_flight() const;
  std::uint64_t sentences_done() const noexcept { return sentences_done_; }

 private:
  struct Entry : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    std::size_t number = 0;
    std::unique_ptr<Job> job;
  };

  void run() noexcept;
  void stop_all() noexcept;
  /// Gives the job a turn.
  void queue(std::size_t number) noexcept;
  /// Returns whether the job has more to do at once.
  static bool give_turn(Job& job) noexcept;
  void end(Entry& entry) noexcept;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, Entry> jobs_;
  boost::intrusive::list<Entry, boost::intrusive::constant_time_size<false>> turns_;
  std::size_t added_ = 0;
  bool ending_ = false;
  std::atomic<std::uint64_t> sentences_done_ = 0;
  Splitters splitters_;  ///< of the thread
  std::jthread thread_;
};

}  // namespace dragoman::server

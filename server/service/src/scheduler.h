#pragma once

#include "job.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace dragoman::server {

/// The thread of a service: it submits the sentences of all jobs, which take turns, and calls their callbacks.
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
  struct Entry {
    std::unique_ptr<Job> job;
    bool queued = false;
  };

  void run();
  /// Gives the job a turn.
  void queue(std::size_t number) noexcept;
  /// Returns whether the job has more to do at once.
  bool give_turn(Job& job);
  void end(std::size_t number);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, Entry> jobs_;
  std::deque<std::size_t> turns_;
  std::size_t added_ = 0;
  bool ending_ = false;
  std::atomic<std::uint64_t> sentences_done_ = 0;
  Splitters splitters_;  ///< of the thread
  std::jthread thread_;
};

}  // namespace dragoman::server

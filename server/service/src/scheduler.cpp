#include "scheduler.h"

#include <exception>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/parallel.h>

namespace dragoman::server {

Scheduler::Scheduler() : thread_(core::start_thread("serves requests", [this] { run(); })) {}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Scheduler::add(TranslateRequest request, TranslationService::Done done, JobSetting setting) {
  std::unique_lock lock(mutex_);
  core::require(!ending_, core::ErrorCode::kInterrupted, "the service is ending");
  const std::size_t number = added_++;
  auto job = std::make_unique<Job>(std::move(request), std::move(done), std::move(setting), splitters_,
                                   [this, number] { queue(number); });
  Entry& entry = jobs_[number];
  entry.number = number;
  entry.job = std::move(job);
  lock.unlock();
  queue(number);
}

void Scheduler::queue(std::size_t number) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(number);
  if (found == jobs_.end() || found->second.is_linked()) return;
  turns_.push_back(found->second);
  changed_.notify_one();
}

bool Scheduler::give_turn(Job& job) noexcept {
  try {
    job.watch();
    job.deliver();
    const bool sent = job.send();
    job.deliver();
    return sent;
  } catch (...) {
    job.fail(std::current_exception());
    return true;
  }
}

void Scheduler::run() noexcept {
  bool stopped = false;
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !turns_.empty() || (ending_ && (!stopped || jobs_.empty())); });
    if (ending_ && jobs_.empty()) return;
    if (ending_ && !stopped) {
      stopped = true;
      lock.unlock();
      stop_all();
      continue;
    }
    Entry& entry = turns_.front();
    turns_.pop_front();
    const std::size_t number = entry.number;
    lock.unlock();
    if (give_turn(*entry.job)) queue(number);
    if (entry.job->finished()) end(entry);
  }
}

/// No job is added any more, and only this thread removes them.
void Scheduler::stop_all() noexcept {
  std::unique_lock lock(mutex_);
  for (auto at = jobs_.begin(); at != jobs_.end(); ++at) {
    lock.unlock();
    at->second.job->stop();
    lock.lock();
  }
}

void Scheduler::end(Entry& entry) noexcept {
  std::unique_ptr<Job> job;
  {
    // Workers that report the end find no job of this number, or find it before it is taken out: both are fine, since
    // they hold its number only.
    const std::lock_guard lock(mutex_);
    job = std::move(entry.job);
    jobs_.erase(entry.number);
  }
  job->settle();
  sentences_done_ += job->sentences();
  job->complete();
}

std::size_t Scheduler::sentences_in_flight() const {
  std::size_t sum = 0;
  const std::lock_guard lock(mutex_);
  for (const auto& [number, entry] : jobs_) sum += entry.job->sentences_in_flight();
  return sum;
}

}  // namespace dragoman::server

#include "scheduler.h"

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
  jobs_.emplace(number, Entry{.job = std::move(job)});
  lock.unlock();
  queue(number);
}

void Scheduler::queue(std::size_t number) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(number);
  if (found == jobs_.end() || found->second.queued) return;
  found->second.queued = true;
  turns_.push_back(number);
  changed_.notify_one();
}

bool Scheduler::give_turn(Job& job) {
  job.deliver();
  const bool sent = job.send();
  job.deliver();
  return sent;
}

void Scheduler::run() {
  bool stopped = false;
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !turns_.empty() || (ending_ && (!stopped || jobs_.empty())); });
    if (ending_ && jobs_.empty()) return;
    if (ending_ && !stopped) {
      stopped = true;
      std::vector<Job*> jobs;
      for (auto& [number, entry] : jobs_) jobs.push_back(entry.job.get());
      lock.unlock();
      for (Job* job : jobs) job->stop();
      continue;
    }
    const std::size_t number = turns_.front();
    turns_.pop_front();
    const auto found = jobs_.find(number);
    if (found == jobs_.end()) continue;
    found->second.queued = false;
    Job& job = *found->second.job;
    lock.unlock();
    job.watch();
    if (give_turn(job)) queue(number);
    if (job.finished()) end(number);
  }
}

void Scheduler::end(std::size_t number) {
  std::unique_ptr<Job> job;
  {
    // Workers that report the end find no job of this number, or find it before it is taken out: both are fine, since
    // they hold its number only.
    const std::lock_guard lock(mutex_);
    job = std::move(jobs_.at(number).job);
    jobs_.erase(number);
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

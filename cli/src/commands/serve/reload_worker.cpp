#include "commands/serve/reload_worker.h"

#include <exception>
#include <utility>

namespace dragoman::cli {

ReloadWorker::ReloadWorker(std::function<void()> reload) : reload_(std::move(reload)), thread_([this] { run(); }) {}

void ReloadWorker::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void ReloadWorker::request(Done done) {
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) {
      waiting_.push_back(std::move(done));
      changed_.notify_one();
      return;
    }
  }
  done("the server is ending");
}

void ReloadWorker::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ended_ || !waiting_.empty(); });
    if (ended_) return;
    const std::vector<Done> served = std::exchange(waiting_, {});
    lock.unlock();
    std::string problem;
    try {
      reload_();
    } catch (const std::exception& error) {
      problem = error.what();
    }
    for (const Done& done : served) done(problem);
    lock.lock();
  }
}

}  // namespace dragoman::cli

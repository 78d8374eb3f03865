#include "unfinished.h"

#include <new>

#include <dragoman/core/error.h>

namespace dragoman::python {

std::uint64_t Unfinished::add(const std::stop_source& stop, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  core::require(!closed_, core::ErrorCode::kInterrupted, "the interpreter is ending");
  all_.emplace(++last_, Work{stop, bytes});
  bytes_ += bytes;
  return last_;
}

void Unfinished::remove(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(key);
  if (found == all_.end()) return;
  bytes_ -= found->second.bytes;
  all_.erase(found);
  changed_.notify_all();
}

std::size_t Unfinished::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void Unfinished::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  for (const auto& [key, work] : all_) work.stop.request_stop();
  changed_.wait(lock, [&] { return all_.empty(); });
}

bool Unfinished::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void Unfinished::forget() {
  new (this) Unfinished();
}

Unfinished& unfinished() {
  static auto* const all = new Unfinished;
  return *all;
}

}  // namespace dragoman::python

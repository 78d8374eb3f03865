#include "unfinished.h"

#include <new>

#include <dragoman/core/error.h>

namespace dragoman::python {

std::uint64_t Unfinished::add(const std::stop_source& stop) {
  const std::lock_guard lock(mutex_);
  core::require(!closed_, core::ErrorCode::kInterrupted, "the interpreter is ending");
  stops_.emplace(++last_, stop);
  return last_;
}

void Unfinished::remove(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  stops_.erase(key);
  changed_.notify_all();
}

void Unfinished::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  for (const auto& [key, stop] : stops_) stop.request_stop();
  changed_.wait(lock, [&] { return stops_.empty(); });
}

void Unfinished::forget() {
  new (this) Unfinished();
}

Unfinished& unfinished() {
  static auto* const all = new Unfinished;
  return *all;
}

}  // namespace dragoman::python

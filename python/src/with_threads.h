#pragma once

#include "call.h"
#include "unfinished.h"

#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include <dragoman/core/error.h>

namespace dragoman::python {

/// An object of the library with threads of its own. A fork does not copy threads, so the child process can neither
/// use nor destroy it: use is an error that says so, and the memory is left to the end of the process.
template <class T>
class WithThreads {
 public:
  explicit WithThreads(T object) : object_(std::make_unique<T>(std::move(object))), forks_(fork_generation()) {}
  WithThreads(WithThreads&&) noexcept = default;
  WithThreads& operator=(WithThreads&&) noexcept = default;
  ~WithThreads() {
    if (forks_ != fork_generation()) {
      [[maybe_unused]] const T* left = object_.release();
      return;
    }
    if (!object_) return;
    if (CallbackScope::is_open()) {
      // This may be a thread of the object, which cannot wait for itself.
      std::unique_ptr<UnfinishedGuard> registered;
      try {
        registered = std::make_unique<UnfinishedGuard>(std::stop_source());
      } catch (const core::Error&) {
        // The interpreter is ending, and the process with it.
        [[maybe_unused]] const T* left = object_.release();
        return;
      }
      std::thread([object = std::move(object_), registered = std::move(registered)]() mutable {
        object.reset();
      }).detach();
      return;
    }
    // Threads that end may wait for the GIL.
    const nb::gil_scoped_release released;
    object_.reset();
  }

  const T& get() const {
    core::require(forks_ == fork_generation(), core::ErrorCode::kUnsupported,
                  "this object was made before the process was forked, and its threads are not in this process; open "
                  "the model after the fork, or start processes with the method \"spawn\"");
    return *object_;
  }

 private:
  std::unique_ptr<T> object_;
  int forks_;
};

}  // namespace dragoman::python

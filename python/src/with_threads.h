#pragma once

#include "call.h"

#include <memory>
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
    // Threads that end may wait for the GIL.
    if (!object_) return;
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

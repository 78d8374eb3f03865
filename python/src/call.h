#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include <dragoman/core/function_ref.h>
#include <dragoman/core/log.h>
#include <dragoman/core/stop_scope.h>

namespace dragoman::python {

namespace nb = nanobind;

/// A call of the library that may take long. While it runs, other Python threads run too, and Ctrl-C is honoured:
/// the library is asked to stop, and the call ends with KeyboardInterrupt.
///
///     BlockingCall call;
///     return call.run([&] { return learn_bpe(files, options, call.progress(progress), call.log(log), call.stop()); });
///
/// Functions of the caller (progress, log) run under the GIL. If one raises, the call ends with its exception.
class BlockingCall {
 public:
  std::stop_token stop() const { return stop_.get_token(); }
  /// Return sinks that call a Python function, or empty ones for None. They are valid while the call runs.
  core::ProgressSink progress(const nb::object& function);
  core::LogSink log(const nb::object& function);

  /// Calls `work` and waits for it.
  template <class Work>
  auto run(Work&& work) {
    return run_beside([] {}, std::forward<Work>(work));
  }

  /// Calls `work` and waits for it. Meanwhile, or before it, this thread calls `python_work` under the GIL. If
  /// `python_work` throws, `work` is asked to stop, and the call ends with that exception.
  template <class PythonWork, class Work>
  auto run_beside(PythonWork&& python_work, Work&& work) {
    using Result = std::invoke_result_t<Work&>;
    if constexpr (std::is_void_v<Result>) {
      run_untyped(python_work, [&] { work(); });
    } else {
      std::optional<Result> result;
      run_untyped(python_work, [&] { result.emplace(work()); });
      return std::move(*result);
    }
  }

  /// Like run(), for functions of the library that take no token: a stop ends them through a core::StopScope.
  template <class Work>
  auto run_stoppable(Work&& work) {
    return run([&] {
      const core::StopScope scope(stop());
      return work();
    });
  }

 private:
  void run_untyped(core::FunctionRef<void()> python_work, core::FunctionRef<void()> work);
  /// Keeps the first exception of a Python function, and asks the library to stop. Under the GIL.
  void keep(nb::python_error error);

  std::stop_source stop_;
  std::optional<nb::python_error> raised_;
};

/// Runs a function of the library on a text of `bytes` bytes, without the GIL. For a long text it is a BlockingCall,
/// which Ctrl-C ends; for a short one, starting a thread would take longer than the work.
template <class Work>
auto run_on_text(std::size_t bytes, Work&& work) {
  constexpr std::size_t kShort = 64 * 1024;
  if (bytes >= kShort) return BlockingCall().run_stoppable(std::forward<Work>(work));
  const nb::gil_scoped_release released;
  return work();
}

/// Lets Ctrl-C end a loop over many Python objects. Under the GIL.
class SignalCheck {
 public:
  void operator()() {
    constexpr std::size_t kPeriod = 1 << 14;
    if (++count_ % kPeriod == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
  }

 private:
  std::size_t count_ = 0;
};

/// The GIL for a function of Python that the library calls. While it exists, an object whose threads the library owns
/// is not destroyed by this thread, which may be one of them (WithThreads).
class CallbackScope {
 public:
  /// Error{kInterrupted} if the interpreter is ending, unless this is the last call of registered work.
  explicit CallbackScope(bool is_last = false);
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

  /// Whether this thread is in such a call.
  static bool is_open() noexcept;

 private:
  std::optional<nb::gil_scoped_acquire> gil_;
};

/// A Python object that threads without the GIL may copy and drop.
class SharedObject {
 public:
  explicit SharedObject(nb::object object);
  const nb::object& get() const { return *object_; }
  /// Lets go of the object, for all copies. Under the GIL.
  void reset() const { object_->reset(); }

 private:
  std::shared_ptr<nb::object> object_;
};

/// Returns the bytes of a str (as UTF-8) or of a bytes object, which must live as long as the result is used. Raises
/// TypeError for anything else, and UnicodeEncodeError for a str with lone surrogates.
std::string_view text_of(nb::handle object);

/// Returns a str. Bytes that are not UTF-8 become U+FFFD, as everywhere in the library.
nb::str to_str(std::string_view text);

nb::list to_list(const std::vector<std::string>& texts);

/// To be called in the child process after a fork.
void note_fork();
/// The number of forks between the first process that loaded the module and this one.
int fork_generation();

}  // namespace dragoman::python

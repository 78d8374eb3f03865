#include "call.h"

#include "unfinished.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include <nanobind/stl/string.h>

#include <dragoman/core/error.h>
#include <dragoman/core/parallel.h>

namespace dragoman::python {
namespace {

/// How long Ctrl-C may wait until it is noticed.
constexpr std::chrono::milliseconds kPeriod{20};

std::atomic<int> forks{0};

/// Whether Python runs signal handlers in this thread. Under the GIL.
bool handles_signals() {
  const nb::module_ threading = nb::module_::import_("threading");
  const nb::object current = threading.attr("current_thread")();
  return current.is(nb::object(threading.attr("main_thread")()));
}

}  // namespace

core::ProgressSink BlockingCall::progress(const nb::object& function) {
  if (function.is_none()) return {};
  return [this, shared = SharedObject(function)](const core::Progress& now) {
    const CallbackScope scope;
    if (raised_) return;
    try {
      nb::dict figures;
      for (const auto& [name, value] : now.figures) figures[to_str(name)] = value;
      shared.get()(to_str(now.stage), now.done, now.total, to_str(now.unit), figures);
    } catch (nb::python_error& error) {
      keep(std::move(error));
    }
  };
}

core::LogSink BlockingCall::log(const nb::object& function) {
  if (function.is_none()) return {};
  return [this, shared = SharedObject(function)](core::LogLevel level, std::string_view message) {
    const CallbackScope scope;
    if (raised_) return;
    try {
      shared.get()(level == core::LogLevel::kWarning ? "warning" : "info", to_str(message));
    } catch (nb::python_error& error) {
      keep(std::move(error));
    }
  };
}

void BlockingCall::keep(nb::python_error error) {
  if (!raised_) raised_.emplace(std::move(error));
  stop_.request_stop();
}

void BlockingCall::run_untyped(core::FunctionRef<void()> python_work, core::FunctionRef<void()> work) {
  // At the end of the interpreter, calls of daemon threads are stopped and waited for.
  const UnfinishedGuard registered(stop_);
  std::exception_ptr problem;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      problem = std::current_exception();
    }
  };
  if (!handles_signals()) {
    python_work();
    const nb::gil_scoped_release released;
    guarded();
  } else {
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
    const auto body = [&] {
      guarded();
      const std::lock_guard lock(mutex);
      done = true;
      ended.notify_one();
    };
    std::optional<std::jthread> worker;
    {
      const nb::gil_scoped_release released;
      worker = core::try_start_thread(body);
    }
    std::exception_ptr python_problem;
    try {
      python_work();
    } catch (...) {
      python_problem = std::current_exception();
      stop_.request_stop();
    }
    if (!worker) {
      const nb::gil_scoped_release released;
      body();
    }
    for (;;) {
      {
        const nb::gil_scoped_release released;
        std::unique_lock lock(mutex);
        if (ended.wait_for(lock, kPeriod, [&] { return done; })) break;
      }
      if (PyErr_CheckSignals() != 0) keep(nb::python_error());
    }
    const nb::gil_scoped_release released;
    worker.reset();
    if (python_problem) problem = python_problem;
  }
  // A function of the caller, or Ctrl-C: the error that the stop caused says less.
  if (raised_) throw nb::python_error(std::move(*raised_));
  if (problem) std::rethrow_exception(problem);
}

SharedObject::SharedObject(nb::object object)
    : object_(new nb::object(std::move(object)), [](nb::object* owned) {
        // Threads must not ask for the GIL when the interpreter ends.
        if (owned->is_valid() && !nb::is_alive()) return;
        if (!owned->is_valid()) return delete owned;
        const nb::gil_scoped_acquire gil;
        delete owned;
      }) {}

namespace {

thread_local int open_callbacks = 0;

}  // namespace

CallbackScope::CallbackScope(bool is_last) {
  // Work that is registered is waited for before the interpreter ends, so the GIL can be had.
  core::require(is_last || !unfinished().closed(), core::ErrorCode::kInterrupted, "the interpreter is ending");
  gil_.emplace();
  ++open_callbacks;
}
CallbackScope::~CallbackScope() {
  --open_callbacks;
}
bool CallbackScope::is_open() noexcept {
  return open_callbacks > 0;
}

std::string_view text_of(nb::handle object) {
  if (PyUnicode_Check(object.ptr())) {
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
    if (bytes == nullptr) throw nb::python_error();
    return {bytes, static_cast<std::size_t>(size)};
  }
  if (PyBytes_Check(object.ptr())) {
    char* bytes = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(object.ptr(), &bytes, &size) != 0) throw nb::python_error();
    return {bytes, static_cast<std::size_t>(size)};
  }
  throw nb::type_error(
      ("a text must be str or bytes, not " +
       nb::cast<std::string>(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__name__")))
          .c_str());
}

nb::str to_str(std::string_view text) {
  PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (made == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(made);
}

nb::list to_list(const std::vector<std::string>& texts) {
  nb::list made;
  SignalCheck check;
  for (const std::string& text : texts) {
    check();
    made.append(to_str(text));
  }
  return made;
}

void note_fork() {
  ++forks;
}
int fork_generation() {
  return forks;
}

}  // namespace dragoman::python

#include "errors.h"

#include "call.h"

#include <new>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/option_error.h>

namespace dragoman::python {
namespace {

const char* name_of(core::ErrorCode code) {
  switch (code) {
    case core::ErrorCode::kInvalidArgument:
      return "InvalidArgumentError";
    case core::ErrorCode::kBadInput:
      return "BadInputError";
    case core::ErrorCode::kIo:
      return "FileError";
    case core::ErrorCode::kUnsupported:
      return "UnsupportedError";
    case core::ErrorCode::kInterrupted:
      return "InterruptedCallError";
    case core::ErrorCode::kClosedPipe:
      return "FileError";
    case core::ErrorCode::kInternal:
      return "InternalError";
  }
  return "Error";
}

/// Returns an option's key as a keyword of Python: `from` is from_.
std::string keyword_of(std::string_view key) {
  std::string word(key);
  if (nb::cast<bool>(nb::module_::import_("keyword").attr("iskeyword")(to_str(word)))) word += '_';
  return word;
}

/// Returns a message in which keys in backquotes are keywords of Python.
std::string word_for_python(std::string_view message) {
  std::string worded;
  for (;;) {
    const std::size_t open = message.find('`');
    const std::size_t close = open == std::string_view::npos ? open : message.find('`', open + 1);
    if (close == std::string_view::npos) return worded.append(message);
    worded.append(message.substr(0, open + 1)).append(keyword_of(message.substr(open + 1, close - open - 1))) += '`';
    message.remove_prefix(close + 1);
  }
}

nb::object make(const core::Error& error) {
  const bool missing = error.code() == core::ErrorCode::kIo &&
                       std::string_view(error.what()).find("o such file") != std::string_view::npos;
  const nb::object type =
      nb::module_::import_("dragoman.errors").attr(missing ? "MissingFileError" : name_of(error.code()));
  nb::object made = type(to_str(word_for_python(error.what())));
  const std::string_view key = core::option_of(error);
  made.attr("key") = key.empty() ? nb::object(nb::none()) : nb::object(to_str(keyword_of(key)));
  made.attr("location") = to_str(fmt::format("{}:{}", error.location().file, error.location().line));
  return made;
}

}  // namespace

void register_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const core::Error& error) {
      const nb::object made = make(error);
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
    }
  });
}

nb::object exception_object(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (nb::python_error& raised) {
    return nb::borrow(raised.value());
  } catch (const core::Error& known) {
    return make(known);
  } catch (const std::bad_alloc&) {
    return nb::module_::import_("builtins").attr("MemoryError")();
  } catch (const std::exception& other) {
    return nb::module_::import_("builtins").attr("RuntimeError")(to_str(other.what()));
  }
}

}  // namespace dragoman::python

#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

namespace dragoman::core {

/// The category of an Error. The command line derives its exit status from it.
enum class ErrorCode {
  kInvalidArgument,  ///< the caller broke the contract of a function
  kBadInput,         ///< a file or text from outside is malformed
  kIo,               ///< the operating system refused: missing file, full disk, no permission
  kUnsupported,      ///< valid, but not available here (device, dtype, missing kernel)
  kInterrupted,      ///< a stop was requested; output written so far is kept
  kClosedPipe,       ///< the reader of our output closed it, as `head` does: an end, not a failure
  kInternal,         ///< an internal invariant is broken
};

/// A place in Dragoman's own source. It replaces std::source_location, which needs clang 16: the older clang of Debian
/// 12 must be able to lint and fuzz.
struct SourceLocation {
  const char* file = "";
  const char* function = "";
  std::uint32_t line = 0;
  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          const char* function = __builtin_FUNCTION(),
                                          std::uint32_t line = __builtin_LINE()) noexcept {
    return {file, function, line};
  }
};

/// The exception that Dragoman throws. Exceptions of the standard library may pass through Dragoman as well:
/// std::bad_alloc, and std::filesystem::filesystem_error for operations that are not expected to fail.
///
/// `what()` is one line. It states what is wrong (with the actual values), where (file, line, offset, tensor) and what
/// to do. A program can print it as it is, whatever file the values came from: control characters are escaped, and the
/// message has at most kLongestMessage bytes.
///
///     try {
///       read_file("config.json");                      // file.h
///     } catch (const Error& error) {
///       fmt::print(stderr, "error: {}\n", error.what());
///       const bool missing_or_unreadable = error.code() == ErrorCode::kIo;
///     }
class Error : public std::runtime_error {
 public:
  static constexpr std::size_t kLongestMessage = 4096;

  Error(ErrorCode code, std::string_view message, SourceLocation location = SourceLocation::current());
  ~Error() override;

  ErrorCode code() const noexcept { return code_; }
  /// Returns the place in Dragoman's own source that raised the error. It is for bug reports, not for users.
  const SourceLocation& location() const noexcept { return location_; }

 private:
  ErrorCode code_;
  SourceLocation location_;
};

/// A format string that is checked at compile time and stores its source location.
template <class... Args>
struct Message {
  template <class Text>
  consteval Message(const Text& format, SourceLocation where = SourceLocation::current())  // NOLINT
      : text(format), location(where) {}
  fmt::format_string<Args...> text;
  SourceLocation location;
};

/// Throws an Error with the formatted message. It is out of line so that callers do not contain the formatting code.
[[noreturn]] void fail_with(ErrorCode code, fmt::string_view text, fmt::format_args args, SourceLocation location);

/// Throws an Error with the formatted message.
template <class... Args>
[[noreturn]] void fail(ErrorCode code, Message<std::type_identity_t<Args>...> message, Args&&... args) {
  fail_with(code, message.text, fmt::make_format_args(args...), message.location);
}

/// Throws an Error with the formatted message unless `condition` holds. The message is formatted only on failure.
///
///     const int beam_size = 5;
///     require(beam_size > 0, ErrorCode::kInvalidArgument, "the beam size is {}; it must be at least 1", beam_size);
template <class... Args>
void require(bool condition, ErrorCode code, Message<std::type_identity_t<Args>...> message, Args&&... args) {
  if (!condition) [[unlikely]]
    fail(code, message, std::forward<Args>(args)...);
}

}  // namespace dragoman::core

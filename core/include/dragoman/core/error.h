#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

namespace dragoman::core {

/// What kind of failure an Error is; the command line derives its exit status from it.
enum class ErrorCode {
  kInvalidArgument,  ///< the caller passed something that the contract forbids
  kBadInput,         ///< a file or text from outside is malformed
  kIo,               ///< the operating system refused: missing file, full disk, no permission
  kUnsupported,      ///< valid, but not available here (device, dtype, missing kernel)
  kInterrupted,      ///< a stop was requested; what had been written is kept
  kClosedPipe,       ///< who read our output has gone away, as `head` does: an end, not a failure
  kInternal,         ///< a broken invariant of ours
};

/// A place in Dragoman's own source. std::source_location needs clang 16, and the clang of Debian 12 must be able to
/// lint and fuzz.
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

/// What Dragoman throws of itself. Exceptions of the standard library pass through it: std::bad_alloc, and
/// std::filesystem::filesystem_error where the system says no to something that nobody expected to fail.
///
/// `what()` is one line that says what was wrong with the actual values, where (file, line, offset, tensor), and what
/// to do. A program can print it as it is, whatever file the values came from: control characters are escaped, and it
/// has at most kLongestMessage bytes.
class Error : public std::runtime_error {
 public:
  static constexpr std::size_t kLongestMessage = 4096;

  Error(ErrorCode code, std::string_view message, SourceLocation location = SourceLocation::current());
  ~Error() override;

  ErrorCode code() const noexcept { return code_; }
  /// Where in Dragoman's own source the error was raised; for bug reports, not for users.
  const SourceLocation& location() const noexcept { return location_; }

 private:
  ErrorCode code_;
  SourceLocation location_;
};

/// A checked format string that remembers where it was written.
template <class... Args>
struct Message {
  template <class Text>
  consteval Message(const Text& format, SourceLocation where = SourceLocation::current())  // NOLINT
      : text(format), location(where) {}
  fmt::format_string<Args...> text;
  SourceLocation location;
};

/// Throws an Error with a message that is formatted out of line, so that those who may fail need not contain the code.
[[noreturn]] void fail_with(ErrorCode code, fmt::string_view text, fmt::format_args args, SourceLocation location);

/// Throws an Error with the formatted message.
template <class... Args>
[[noreturn]] void fail(ErrorCode code, Message<std::type_identity_t<Args>...> message, Args&&... args) {
  fail_with(code, message.text, fmt::make_format_args(args...), message.location);
}

/// Throws an Error with the formatted message unless `condition` holds. The message is formatted only on failure.
template <class... Args>
void require(bool condition, ErrorCode code, Message<std::type_identity_t<Args>...> message, Args&&... args) {
  if (!condition) [[unlikely]]
    fail(code, message, std::forward<Args>(args)...);
}

}  // namespace dragoman::core

#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <dragoman/core/error.h>

namespace dragoman::core {

/// An error about an option: its value is wrong, or setting it is the remedy. The message names options by their keys,
/// and puts keys that it recommends in backquotes. A program can therefore substitute its own spelling: the command
/// line prints `beam_size` as --beam-size.
///
///     const int beam_size = 0;
///     require_option(beam_size > 0, "beam_size", ErrorCode::kInvalidArgument, "it is {}, not above 0", beam_size);
class OptionError : public Error {
 public:
  OptionError(ErrorCode code, std::string_view message, const std::string& option,
              SourceLocation location = SourceLocation::current());
  ~OptionError() override;

  /// Returns the key as YAML and option tables spell it: "beam_size".
  std::string_view option() const noexcept { return option_.what(); }

 private:
  std::runtime_error option_;  ///< a std::string whose copies cannot throw, which exceptions require
};

/// Returns the key of the option that an error is about, or an empty string if it is about none.
std::string_view option_of(const Error& error) noexcept;

/// Throws an OptionError with the formatted message. It is out of line so that callers do not contain the formatting
/// code.
[[noreturn]] void fail_with_option(std::string_view option, ErrorCode code, fmt::string_view text,
                                   fmt::format_args args, SourceLocation location);

/// Throws an OptionError with the formatted message, or an Error if `option` is empty.
template <class... Args>
[[noreturn]] void fail_option(std::string_view option, ErrorCode code, Message<std::type_identity_t<Args>...> message,
                              Args&&... args) {
  fail_with_option(option, code, message.text, fmt::make_format_args(args...), message.location);
}

/// Throws an OptionError with the formatted message unless `condition` holds.
template <class... Args>
void require_option(bool condition, std::string_view option, ErrorCode code,
                    Message<std::type_identity_t<Args>...> message, Args&&... args) {
  if (!condition) [[unlikely]]
    fail_option(option, code, message, std::forward<Args>(args)...);
}

/// Rethrows an error with another message. Its option and location are kept, and its code too unless another is given.
[[noreturn]] void fail_again(const Error& error, std::string_view message);
[[noreturn]] void fail_again(const Error& error, std::string_view message, ErrorCode code);
/// Rethrows an error with the message "where: message".
[[noreturn]] void fail_within(std::string_view where, const Error& error);
[[noreturn]] void fail_within(std::string_view where, const Error& error, ErrorCode code);

}  // namespace dragoman::core

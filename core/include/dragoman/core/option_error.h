#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <dragoman/core/error.h>

namespace dragoman::core {

/// An error about an option: it is wrong, or it would help. The message names options by their keys, and in backquotes
/// where it advises to use one, so that a program can put its own spelling in their place: the command line writes
/// `beam_size` as --beam-size.
class OptionError final : public Error {
 public:
  OptionError(ErrorCode code, std::string_view message, const std::string& option,
              SourceLocation location = SourceLocation::current());
  ~OptionError() override;

  /// The key as YAML and tables of options spell it: "beam_size".
  std::string_view option() const noexcept { return option_.what(); }

 private:
  std::runtime_error option_;  ///< a text whose copies do not throw, as an exception's must not
};

/// The key of the option that an error is about; empty if it is about none.
std::string_view option_of(const Error& error) noexcept;

/// Throws an OptionError with a message that is formatted out of line.
[[noreturn]] void fail_with_option(std::string_view option, ErrorCode code, fmt::string_view text,
                                   fmt::format_args args, SourceLocation location);

/// Throws an OptionError with the formatted message; an empty option makes it an Error.
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

/// Throws an error again with another message; code (unless another is given), option and location stay.
[[noreturn]] void fail_again(const Error& error, std::string_view message);
[[noreturn]] void fail_again(const Error& error, std::string_view message, ErrorCode code);
/// Throws the error again with the message "where: message".
[[noreturn]] void fail_within(std::string_view where, const Error& error);
[[noreturn]] void fail_within(std::string_view where, const Error& error, ErrorCode code);

}  // namespace dragoman::core

#include "dragoman/core/option_error.h"

#include <fmt/format.h>

namespace dragoman::core {

OptionError::OptionError(ErrorCode code, std::string_view message, const std::string& option, SourceLocation location)
    : Error(code, message, location), option_(option) {}

OptionError::~OptionError() = default;

std::string_view option_of(const Error& error) noexcept {
  const auto* about = dynamic_cast<const OptionError*>(&error);
  return about == nullptr ? std::string_view() : about->option();
}

void fail_with_option(std::string_view option, ErrorCode code, fmt::string_view text, fmt::format_args args,
                      SourceLocation location) {
  if (option.empty()) fail_with(code, text, args, location);
  throw OptionError(code, fmt::vformat(text, args), std::string(option), location);
}

void fail_again(const Error& error, std::string_view message, ErrorCode code) {
  const std::string_view option = option_of(error);
  if (option.empty()) throw Error(code, message, error.location());
  throw OptionError(code, message, std::string(option), error.location());
}

void fail_again(const Error& error, std::string_view message) {
  fail_again(error, message, error.code());
}

void fail_within(std::string_view where, const Error& error, ErrorCode code) {
  fail_again(error, fmt::format("{}: {}", where, error.what()), code);
}

void fail_within(std::string_view where, const Error& error) {
  fail_within(where, error, error.code());
}

}  // namespace dragoman::core

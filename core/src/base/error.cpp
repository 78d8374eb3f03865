#include "dragoman/core/error.h"

#include "dragoman/core/quote.h"

#include <fmt/format.h>

namespace dragoman::core {

Error::Error(ErrorCode code, std::string_view message, SourceLocation location)
    : std::runtime_error(printable(message, kLongestMessage)), code_(code), location_(location) {}

Error::~Error() = default;

void fail_with(ErrorCode code, fmt::string_view text, fmt::format_args args, SourceLocation location) {
  throw Error(code, fmt::vformat(text, args), location);
}

}  // namespace dragoman::core

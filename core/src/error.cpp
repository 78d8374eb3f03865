#include "dragoman/core/error.h"

#include "dragoman/core/quote.h"

namespace dragoman::core {

Error::Error(ErrorCode code, std::string_view message, SourceLocation location)
    : std::runtime_error(printable(message, kLongestMessage)), code_(code), location_(location) {}

Error::~Error() = default;

}  // namespace dragoman::core

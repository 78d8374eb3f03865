#include "dragoman/core/error.h"

#include <algorithm>

namespace dragoman::core {
namespace {

std::string on_one_line(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  return message;
}

}  // namespace

Error::Error(ErrorCode code, std::string message, SourceLocation location)
    : std::runtime_error(on_one_line(std::move(message))), code_(code), location_(location) {}

Error::~Error() = default;

}  // namespace dragoman::core

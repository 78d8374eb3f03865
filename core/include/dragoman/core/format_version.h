#pragma once

#include <cstdint>
#include <string>

#include <dragoman/core/json_fwd.h>

namespace dragoman::core {

/// Requires that the file `where` is not of a newer format: if its object has the key `format_version`, this must be a
/// whole number from 1 to `newest`. Returns the version, or 0 without the key. Throws Error{kUnsupported} for a newer
/// one and Error{kBadInput} for anything else.
std::int64_t require_known_version(const Json& object, std::int64_t newest, const std::string& where);

}  // namespace dragoman::core

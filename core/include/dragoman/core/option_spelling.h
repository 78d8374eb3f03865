#pragma once

#include <string>

#include <dragoman/core/json_fwd.h>

namespace dragoman::core {

/// Returns a copy of an options object in which each '-' of a key is replaced by '_', so that keys may be spelled as on
/// the command line. Values are unchanged. Takes O(n log n) time. Throws Error{kBadInput} for a key that occurs in both
/// spellings.
Json spelled_with_underscores(const Json& options, const std::string& where);

}  // namespace dragoman::core

#pragma once

#include <string>

#include <dragoman/core/json_fwd.h>

namespace dragoman::core {

/// Returns an options object with '_' for each '-' in its keys, as the command line spells them; other values as they
/// are. Takes n log n time. Error{kBadInput} for a key that is there in both spellings.
Json spelled_with_underscores(const Json& options, const std::string& where);

}  // namespace dragoman::core

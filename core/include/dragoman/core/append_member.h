#pragma once

#include <string>

#include <dragoman/core/json_fwd.h>

namespace dragoman::core {

/// Appends a member to an object in constant time. The object must not have the key yet. Objects keep their members in
/// a list, so `object[key] = value` looks at all of them, and a loop over n keys of a foreign file takes n² steps.
void append_member(Json& object, std::string key, Json value);

}  // namespace dragoman::core

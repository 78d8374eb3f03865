#pragma once

#include <nlohmann/json_fwd.hpp>

namespace dragoman::core {

/// The one tree type for configuration and records, whatever file they came from (JSON or YAML). Objects keep the order
/// of their keys. For headers that only name it; json.h has all of it, which costs a second of compiling.
using Json = nlohmann::ordered_json;

class OptionReader;  // options.h

}  // namespace dragoman::core

#pragma once

#include <nlohmann/json_fwd.hpp>

namespace dragoman::core {

/// The tree type for configurations and records, whether they were read from JSON or YAML. Objects keep the order of
/// their keys. This header is for headers that only name the type; json.h defines it and costs a second of compile
/// time.
using Json = nlohmann::ordered_json;

class OptionReader;  // options.h

}  // namespace dragoman::core

#pragma once

#include "target.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <dragoman/core/json.h>
#include <dragoman/core/yaml.h>

namespace dragoman::fuzz {

inline void check_yaml_round_trip(const core::Json& tree) {
  promise(core::parse_yaml(core::dump_yaml(tree), "written again") == tree,
          "a tree that is written and read is the same");
}

/// Reads YAML, up to a NUL if there is one; what follows is an assignment for --set. True if the YAML was well-formed.
inline bool exercise_yaml(std::string_view bytes) {
  return accepts([&] {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    core::Json tree = core::parse_yaml(bytes.substr(0, end), "fuzz");
    check_yaml_round_trip(tree);
    if (end < bytes.size() && accepts([&] { core::set_option(tree, bytes.substr(end + 1)); }))
      check_yaml_round_trip(tree);
  });
}

inline Target yaml_target() {
  return {.name = "yaml", .exercise = exercise_yaml, .budget = {.microseconds_per_byte = 5, .bytes_per_byte = 1024}};
}

}  // namespace dragoman::fuzz

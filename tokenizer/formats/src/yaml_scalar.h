#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dragoman::tokenizer {

/// A line `key: value` of a YAML mapping. Keys may be plain or in single or double quotes.
struct YamlEntry {
  std::string key;
  std::string_view value;
};

/// Nothing if the line is not such an entry.
std::optional<YamlEntry> parse_yaml_entry(std::string_view line);

}  // namespace dragoman::tokenizer

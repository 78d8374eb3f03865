#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/core/option_table.h>
#include <dragoman/decoding/inner_states.h>

namespace dragoman::pipeline {

/// What `attention` may be, with its names.
inline const std::vector<std::pair<std::string_view, std::optional<decoding::AttentionKind>>>& attention_kinds() {
  using Kind = decoding::AttentionKind;
  static const std::vector<std::pair<std::string_view, std::optional<Kind>>> all = {
      {"none", std::nullopt}, {"encoder", Kind::kEncoder}, {"decoder", Kind::kDecoder}, {"cross", Kind::kCross}};
  return all;
}

inline std::string_view name_of(decoding::AttentionKind kind) {
  for (const auto& [name, other] : attention_kinds())
    if (other == kind) return name;
  return {};
}

/// An option that is "all" (or `fallback`, which means as much), or numbers and ranges with commas between: "0-3,7".
core::Option number_list_option(const char* name, const char* placeholder, const char* help, const char* fallback,
                                bool may_be_negative);
/// Its numbers, none for "all". In YAML a list, a number, or the same text as on the command line.
std::vector<int> read_number_list(core::OptionReader& options, const char* key, bool may_be_negative);

}  // namespace dragoman::pipeline

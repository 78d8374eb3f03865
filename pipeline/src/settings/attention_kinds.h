#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/core/option_table.h>
#include <dragoman/decoding/inner_states.h>

namespace dragoman::pipeline {

/// Returns the names and values of the option `attention`.
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

/// Creates an option whose value is "all" (or its synonym `fallback`), or numbers and ranges separated by commas:
/// "0-3,7".
core::Option number_list_option(const char* name, const char* placeholder, const char* help, const char* fallback,
                                bool may_be_negative);
/// Returns the numbers of such an option, none for "all". In YAML, the value is a list, a number, or the same text as
/// on the command line.
std::vector<int> read_number_list(core::OptionReader& options, const char* key, bool may_be_negative);

}  // namespace dragoman::pipeline

#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

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

}  // namespace dragoman::pipeline

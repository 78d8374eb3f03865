#pragma once

#include "dragoman/training/option_table.h"

#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include <dragoman/core/json.h>
#include <dragoman/core/sizes.h>

namespace dragoman::training {

// Ranges of numbers that several tables use.
inline constexpr core::NumberRange<std::int64_t> kCount{.least = 0, .most = kMany};
inline constexpr core::NumberRange<std::int64_t> kAtLeastOne{.least = 1, .most = kMany};
inline constexpr core::NumberRange<std::int32_t> kLength{.least = 2, .most = 65536};
inline constexpr core::NumberRange<double> kProbability{.least = 0, .most = 1};
inline constexpr core::NumberRange<double> kDecay{.least = 0, .most = 1, .most_included = false};
inline constexpr core::NumberRange<double> kNotNegative{.least = 0, .most = 1e30};

/// Reads SIZE as text, or 0, which is written as `none`.
inline std::uint64_t read_size(core::OptionReader& options, const char* key, std::string_view none) {
  const core::Json& value = options.subtree(key);
  if (value.is_null() || value == 0) return 0;
  const std::uint64_t bytes = value.is_string() ? core::spelled_size(value.get<std::string>()).value_or(0) : 0;
  options.check(bytes > 0, key, fmt::format("{}, or 0 for {}", core::demand_of_size(), none));
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
  options.check(bytes >= kLeast, key, "must be at least 1MiB");
  return bytes;
}

inline core::Json as_size(std::uint64_t bytes) {
  return bytes == 0 ? core::Json(0) : core::Json(fmt::format("{}B", bytes));
}

template <class Config>
void read_memory(core::OptionReader& options, Config& config, std::string_view none) {
  config.memory = read_size(options, "memory", none);
}

template <class Config>
void write_memory(const Config& config, core::Json& json) {
  json["memory"] = as_size(config.memory);
}

}  // namespace dragoman::training

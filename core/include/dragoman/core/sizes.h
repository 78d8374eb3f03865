#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dragoman::core {

/// Returns the number of bytes that "500MB", "2GB" or "1GiB" stands for: a whole number and one of B, kB, MB, GB, TB,
/// KiB, MiB, GiB, TiB. Returns nullopt for any other text, for zero, and for sizes above 64 bits.
std::optional<std::uint64_t> spelled_size(std::string_view text);

/// Returns the format of spelled_size() for messages: "must be a whole number above 0 and a unit (...), as 500MB or
/// 2GiB".
std::string demand_of_size();

/// Returns a size in powers of 1000: "512 B", "1.5 MB", "4.0 GB".
///
///     const std::string text = describe_size(spelled_size("2GiB").value());     // "2.1 GB"
std::string describe_size(std::uint64_t bytes);

}  // namespace dragoman::core

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dragoman::core {

/// The bytes that "500MB", "2GB" or "1GiB" stand for: a whole number and one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB.
/// Nothing of any other text, of zero, and of more than 64 bits can count.
std::optional<std::uint64_t> spelled_size(std::string_view text);

/// What spelled_size() reads, for messages: "must be a whole number above 0 and a unit (...), as 500MB or 2GiB".
std::string demand_of_size();

/// "512 B", "1.5 MB", "4.0 GB": in powers of 1000.
std::string describe_size(std::uint64_t bytes);

}  // namespace dragoman::core

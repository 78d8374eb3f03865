#include "dragoman/core/sizes.h"

#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>

namespace dragoman::core {
namespace {

struct SizeUnit {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::uint64_t kThousand = 1000;
constexpr std::array kSizeUnits = {SizeUnit{"B", 1},
                                   SizeUnit{"kB", kThousand},
                                   SizeUnit{"MB", kThousand* kThousand},
                                   SizeUnit{"GB", kThousand* kThousand* kThousand},
                                   SizeUnit{"TB", kThousand* kThousand* kThousand* kThousand},
                                   SizeUnit{"KiB", std::uint64_t{1} << 10},
                                   SizeUnit{"MiB", std::uint64_t{1} << 20},
                                   SizeUnit{"GiB", std::uint64_t{1} << 30},
                                   SizeUnit{"TiB", std::uint64_t{1} << 40}};

}  // namespace

std::optional<std::uint64_t> spelled_size(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number == 0) return std::nullopt;
  for (const SizeUnit& unit : kSizeUnits)
    if (unit.name == std::string_view(stop, static_cast<std::size_t>(end - stop)))
      return number <= std::numeric_limits<std::uint64_t>::max() / unit.bytes ? std::optional(number * unit.bytes)
                                                                              : std::nullopt;
  return std::nullopt;
}

std::string demand_of_size() {
  return "must be a whole number above 0 and a unit (B, kB, MB, GB, TB, KiB, MiB, GiB or TiB), as 500MB or 2GiB";
}

std::string describe_size(std::uint64_t bytes) {
  if (bytes < kThousand) return fmt::format("{} B", bytes);
  std::size_t unit = 1;
  constexpr std::size_t kLargest = 4;  // TB
  while (unit < kLargest && bytes >= kSizeUnits[unit + 1].bytes) ++unit;
  return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(kSizeUnits[unit].bytes),
                     kSizeUnits[unit].name);
}

}  // namespace dragoman::core

#include "options/memory_option.h"

#include "program/command.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::uint64_t kThousand = 1000;
constexpr std::array kUnits = {Unit{"B", 1},
                               Unit{"kB", kThousand},
                               Unit{"MB", kThousand* kThousand},
                               Unit{"GB", kThousand* kThousand* kThousand},
                               Unit{"TB", kThousand* kThousand* kThousand* kThousand},
                               Unit{"KiB", std::uint64_t{1} << 10},
                               Unit{"MiB", std::uint64_t{1} << 20},
                               Unit{"GiB", std::uint64_t{1} << 30},
                               Unit{"TiB", std::uint64_t{1} << 40}};

const Unit* find_unit(std::string_view name) {
  for (const Unit& unit : kUnits)
    if (unit.name == name) return &unit;
  return nullptr;
}

}  // namespace

std::uint64_t parse_size(const std::string& option, const std::string& text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const Unit* unit = error == std::errc() ? find_unit({stop, static_cast<std::size_t>(end - stop)}) : nullptr;
  if (unit == nullptr || number == 0)
    throw UsageError(fmt::format(
        "{} {}: must be a whole number above 0 and a unit (B, kB, MB, GB, TB, KiB, MiB, GiB or TiB), as 500MB or 2GiB",
        option, text));
  if (number > std::numeric_limits<std::uint64_t>::max() / unit->bytes)
    throw UsageError(fmt::format("{} {}: is more than 64 bits can count", option, text));
  return number * unit->bytes;
}

void MemoryOption::add_to(po::options_description& options) {
  options.add_options()("memory", po::value(&size_)->value_name("SIZE"),
                        "use at most so much memory, as 500MB or 2GiB; what does not fit goes to temporary files in "
                        "$TMPDIR, else beside the output. The result is the same (default: no limit)");
}

tokenizer::MemoryBudget MemoryOption::budget(const std::string& output) const {
  tokenizer::MemoryBudget budget;
  if (!size_.empty()) budget.bytes = parse_size("--memory", size_);
  const char* folder = std::getenv("TMPDIR");
  if (folder != nullptr && *folder != '\0') {
    budget.temporary_folder = folder;
  } else if (std::error_code ignored; output != "-" && !std::filesystem::is_character_file(output, ignored)) {
    budget.temporary_folder = std::filesystem::path(output).parent_path();
    if (budget.temporary_folder.empty()) budget.temporary_folder = ".";
  }
  return budget;
}

}  // namespace dragoman::cli

#include "options/memory_option.h"

#include "program/command.h"

#include <cstdlib>

#include <fmt/format.h>

#include <dragoman/core/sizes.h>

namespace dragoman::cli {
namespace {

namespace po = boost::program_options;

}  // namespace

std::uint64_t parse_size(const std::string& option, const std::string& text) {
  if (const auto bytes = core::spelled_size(text)) return *bytes;
  throw UsageError(fmt::format("{} {}: {}, and no more than 64 bits can count", option, text, core::demand_of_size()));
}

void MemoryOption::add_to(po::options_description& options) {
  options.add_options()("memory", po::value(&size_)->value_name("SIZE"),
                        "memory limit, such as 500MB or 2GiB; data beyond it goes to temporary files in $TMPDIR, or "
                        "next to the output. The result is the same (default: no limit)");
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

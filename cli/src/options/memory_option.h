#pragma once

#include <cstdint>
#include <string>

#include <boost/program_options.hpp>

#include <dragoman/tokenizer/memory_budget.h>

namespace dragoman::cli {

/// The bytes that "500MB", "2GB" or "1GiB" stand for: a whole number and one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB.
/// Anything else is a UsageError that names the option.
std::uint64_t parse_size(const std::string& option, const std::string& text);

/// --memory, for commands that count words.
class MemoryOption {
 public:
  void add_to(boost::program_options::options_description& options);
  /// Temporary files go to $TMPDIR; without it beside `output`, which has room for what comes of them; for standard
  /// output to /tmp.
  tokenizer::MemoryBudget budget(const std::string& output) const;

 private:
  std::string size_;
};

}  // namespace dragoman::cli

#pragma once

#include <cstdint>
#include <string>

#include <boost/program_options.hpp>

#include <dragoman/tokenizer/memory_budget.h>

namespace dragoman::cli {

/// Parses "500MB", "2GB" or "1GiB": an integer and one of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB. Returns bytes.
/// Anything else is a UsageError that names the option.
std::uint64_t parse_size(const std::string& option, const std::string& text);

/// --memory, for commands that count words.
class MemoryOption {
 public:
  void add_to(boost::program_options::options_description& options);
  /// Returns the budget. Temporary files go to $TMPDIR. Without it, they go to the folder of `output`, which has room
  /// for the results; for standard output, to /tmp.
  tokenizer::MemoryBudget budget(const std::string& output) const;

 private:
  std::string size_;
};

}  // namespace dragoman::cli

#pragma once

#include "dragoman/tokenizer/memory_budget.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

namespace dragoman::tokenizer {

/// How a memory budget is shared out: a fixed part for the program and its buffers, the rest for tables of words while
/// words are counted, and afterwards for learning merges.
struct MemoryPlan {
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  /// Of as many threads as are asked for, 0 meaning core::default_threads() or, with a budget, as many of these as fit.
  /// Throws Error{kInvalidArgument} for a budget that is too small, with the smallest that is not.
  static MemoryPlan of(const MemoryBudget& budget, int threads);
  /// No limit.
  static MemoryPlan of(int threads) { return of(MemoryBudget(), threads); }

  bool is_limited() const { return budget != 0; }

  int threads = 1;
  std::uint64_t budget = 0;
  std::size_t table_bytes = kNoLimit;  ///< for the tables of each thread
  std::size_t chunk_bytes = kNoLimit;  ///< for each chunk of text, so also for the longest word
  /// Tables up to here can be joined, normalised and laid out in memory, whatever the words.
  std::size_t in_memory_bytes = kNoLimit;
  std::filesystem::path temporary_folder;
};

/// What the process takes while it learns a vocabulary of that size from distinct words of so many characters, one more
/// for each word: an upper bound of what was measured.
std::uint64_t learning_bytes(std::uint64_t cells, std::uint64_t vocab_size);
/// The largest number of cells that the plan has room to learn from.
std::uint64_t most_cells(const MemoryPlan& plan, std::uint64_t vocab_size);

/// In whole megabytes, rounded up, as an option takes it: "512MB".
std::string in_megabytes(std::uint64_t bytes);

}  // namespace dragoman::tokenizer

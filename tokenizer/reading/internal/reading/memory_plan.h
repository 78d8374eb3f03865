#pragma once

#include "dragoman/tokenizer/memory_budget.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

namespace dragoman::tokenizer {

/// The division of a memory budget: a fixed part for the program and its buffers, and the rest for tables of words
/// during counting, and afterwards for learning merges.
struct MemoryPlan {
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  /// Returns the plan for `threads` threads. 0 means core::default_threads() or, with a budget, as many of these as
  /// fit. Throws Error{kInvalidArgument} with the smallest sufficient budget if the budget is too small.
  static MemoryPlan of(const MemoryBudget& budget, int threads);
  /// Returns a plan without a limit.
  static MemoryPlan of(int threads) { return of(MemoryBudget(), threads); }

  bool is_limited() const { return budget != 0; }

  int threads = 1;
  std::uint64_t budget = 0;
  std::size_t table_bytes = kNoLimit;  ///< for the tables of each thread
  std::size_t chunk_bytes = kNoLimit;  ///< for each chunk of text, and thus for the longest word
  /// Tables of up to this size can be joined, normalised and laid out in memory, regardless of the words.
  std::size_t in_memory_bytes = kNoLimit;
  std::filesystem::path temporary_folder;
};

/// Returns an upper bound of the measured memory of the process while it learns a vocabulary of that size. `cells` is
/// the number of characters of the distinct words, plus one per word.
std::uint64_t learning_bytes(std::uint64_t cells, std::uint64_t vocab_size);
/// Returns the largest number of cells for which the plan has enough memory.
std::uint64_t most_cells(const MemoryPlan& plan, std::uint64_t vocab_size);

/// Returns the size in whole megabytes, rounded up, in the form of an option: "512MB".
std::string in_megabytes(std::uint64_t bytes);

}  // namespace dragoman::tokenizer

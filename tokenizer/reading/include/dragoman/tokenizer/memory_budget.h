#pragma once

#include <cstdint>
#include <filesystem>

namespace dragoman::tokenizer {

/// A limit on the memory of the whole process while it counts words and learns merges. It holds for any corpus: data
/// that exceeds it is sorted and stored in temporary files. If data that must be in memory does not fit, an Error gives
/// the required size. Results are never approximate.
struct MemoryBudget {
  std::uint64_t bytes = 0;  ///< 0: no limit
  /// The folder for temporary files. They have no names in it, so they disappear however the process ends.
  std::filesystem::path temporary_folder = "/tmp";
};

}  // namespace dragoman::tokenizer

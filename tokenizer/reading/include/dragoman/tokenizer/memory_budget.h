#pragma once

#include <cstdint>
#include <filesystem>

namespace dragoman::tokenizer {

/// A limit on the memory of the whole process while words are counted and merges learned. It is kept whatever the
/// corpus: what does not fit is sorted and put into temporary files, and what must fit but cannot is an Error that says
/// how much it needs. Nothing is ever approximated.
struct MemoryBudget {
  std::uint64_t bytes = 0;  ///< 0: no limit
  /// Where the temporary files go. They have no names there, so they vanish however the process ends.
  std::filesystem::path temporary_folder = "/tmp";
};

}  // namespace dragoman::tokenizer

#pragma once

#include "thread_arena.h"
#include "word_table.h"

#include <filesystem>
#include <stop_token>
#include <vector>

#include <tbb/enumerable_thread_specific.h>

#include <dragoman/core/log.h>

namespace dragoman::tokenizer {

/// Counts of several threads, each of which adds to its own.
class ThreadCounts {
 public:
  WordCounts& local() { return counts_.local(); }
  /// All counts together; nothing is left here. Calls of TBB's current arena share the work.
  WordCounts join();

 private:
  tbb::enumerable_thread_specific<WordCounts> counts_;
};

/// Counts the words of text files, which lie between spaces and line ends; a CR before LF belongs to the line end. With
/// `whole_lines`, lines are counted instead. Reads block by block on the threads of the arena.
WordCounts count_words(const std::vector<std::filesystem::path>& inputs, bool whole_lines, ThreadArena& arena,
                       const core::ProgressSink& progress, const std::stop_token& stop);

}  // namespace dragoman::tokenizer

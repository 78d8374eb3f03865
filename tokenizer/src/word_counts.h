#pragma once

#include "dragoman/tokenizer/invalid_utf8.h"
#include "memory_plan.h"
#include "thread_arena.h"
#include "word_runs.h"
#include "word_table.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include <dragoman/core/log.h>

namespace dragoman::tokenizer {

/// Counts of the threads of an arena, each of which adds to its own.
class ThreadCounts {
 public:
  /// Each thread's tables may take so many bytes.
  explicit ThreadCounts(const ThreadArena& arena, std::size_t limit = MemoryPlan::kNoLimit);

  /// Of the calling thread, which runs a task of the arena.
  WordCounts& local();
  /// All counts together; nothing is left here. Calls of TBB's current arena share the work.
  WordCounts join();
  /// What all tables take, if there is a limit.
  std::size_t bytes() const;
  /// Writes out what every thread has counted; nothing is left here.
  void move_to(WordRuns& runs);

 private:
  std::size_t limit_;
  std::vector<std::optional<WordCounts>> counts_;
};

/// Files to take words from.
struct WordSource {
  enum class Kind { kTexts, kCounts };
  std::vector<std::filesystem::path> files;
  Kind kind = Kind::kTexts;
  bool whole_lines = false;                       ///< each line is a word
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep;  ///< of texts
};

/// Says on the log which share of a corpus is left out.
void report_dropped(const WordTotal& dropped, const WordTotal& all, std::uint64_t min_count, const core::LogSink& log);

/// All words of a source: in tables if they fit, else on disk.
struct CountedWords {
  WordCounts in_memory;
  std::unique_ptr<WordRuns> on_disk;  ///< if there is one, it has all the words
};

/// Counts the words of text files, which lie between spaces and line ends, or adds up those of count files; a CR before
/// LF of a text belongs to the line end. Reads block by block on the threads of the arena.
CountedWords collect_words(const WordSource& source, const MemoryPlan& plan, ThreadArena& arena,
                           const core::ProgressSink& progress, const std::stop_token& stop);

}  // namespace dragoman::tokenizer

#pragma once

#include "reading/memory_plan.h"
#include "reading/thread_arena.h"
#include "reading/word_runs.h"
#include "reading/word_table.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/tokenizer/invalid_utf8.h>

namespace dragoman::tokenizer {

/// Counts of several threads, each of which adds to its own tables.
class ThreadCounts {
 public:
  /// Each thread's tables may take `limit` bytes.
  explicit ThreadCounts(std::size_t limit = MemoryPlan::kNoLimit) : limit_(limit) {}

  /// Calls body(counts) with counts to which no other thread adds in the meantime.
  template <class Body>
  void with(Body&& body) {
    counts_.with([&] { return limit_ == MemoryPlan::kNoLimit ? WordCounts() : WordCounts(limit_); }, body);
  }
  /// Calls body(counts, i) for each i in [0, count), shared by all threads.
  template <class Body>
  void for_each_block(ThreadArena& arena, std::size_t count, Body&& body) {
    constexpr std::int64_t kBlock = 1024;
    core::for_each_range(arena.executor(), static_cast<std::int64_t>(count), kBlock,
                         [&](std::int64_t begin, std::int64_t end) {
                           with([&](WordCounts& counts) {
                             for (std::int64_t i = begin; i < end; ++i) body(counts, static_cast<std::size_t>(i));
                           });
                         });
  }
  /// Returns the sum of all counts and leaves the object empty.
  WordCounts join(ThreadArena& arena);
  /// Returns the bytes of all tables, if there is a limit.
  std::size_t bytes() const;
  /// Writes out the counts of every thread and leaves the object empty.
  void move_to(WordRuns& runs);

 private:
  std::size_t limit_;
  OnePerThread<WordCounts> counts_;
};

/// Files from which words are read.
struct WordSource {
  enum class Kind { kTexts, kCounts };
  std::vector<std::filesystem::path> files;
  Kind kind = Kind::kTexts;
  bool whole_lines = false;                       ///< each line is a word
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep;  ///< for texts
  core::LogSink log = {};                         ///< receives a message about byte order marks
};

/// Logs the share of a corpus that is dropped.
void report_dropped(const WordTotal& dropped, const WordTotal& all, std::uint64_t min_count, const core::LogSink& log);

/// All words of a source, in tables if they fit, else on disk.
struct CountedWords {
  WordCounts in_memory;
  std::unique_ptr<WordRuns> on_disk;  ///< if set, it has all the words
};

/// Counts the words of text files, which are separated by spaces and line ends, or adds up the counts of count files. A
/// CR before LF of a text belongs to the line end. Reads block by block on the threads of the arena.
CountedWords collect_words(const WordSource& source, const MemoryPlan& plan, ThreadArena& arena,
                           const core::ProgressSink& progress, const std::stop_token& stop);

}  // namespace dragoman::tokenizer

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

/// Counts of several threads, each of which adds to its own.
class ThreadCounts {
 public:
  /// Each thread's tables may take so many bytes.
  explicit ThreadCounts(std::size_t limit = MemoryPlan::kNoLimit) : limit_(limit) {}

  /// Calls body(counts) with counts that no other thread adds to meanwhile.
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
  /// All counts together; nothing is left here.
  WordCounts join(ThreadArena& arena);
  /// What all tables take, if there is a limit.
  std::size_t bytes() const;
  /// Writes out what every thread has counted; nothing is left here.
  void move_to(WordRuns& runs);

 private:
  std::size_t limit_;
  OnePerThread<WordCounts> counts_;
};

/// Files to take words from.
struct WordSource {
  enum class Kind { kTexts, kCounts };
  std::vector<std::filesystem::path> files;
  Kind kind = Kind::kTexts;
  bool whole_lines = false;                       ///< each line is a word
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kKeep;  ///< of texts
  core::LogSink log = {};                         ///< receives a message about byte order marks
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

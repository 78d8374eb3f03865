#include "reading/collect_words.h"

#include "reading/chunk_loop.h"
#include "reading/count_file.h"

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

/// Splits text at spaces and line ends, or only at line ends, eight bytes at a time.
class TextWordReader {
 public:
  TextWordReader(std::string_view text, bool whole_lines)
      : text_(text), second_end_(whole_lines ? '\n' : ' '), seconds_(kOnes * static_cast<unsigned char>(second_end_)) {}

  /// Returns the next word that is not empty, or an empty one at the end.
  std::string_view next() {
    while (begin_ < text_.size()) {
      const std::size_t end = end_of_word(begin_);
      std::string_view word = text_.substr(begin_, end - begin_);
      begin_ = end + 1;
      if (end < text_.size() && text_[end] == '\n' && word.ends_with('\r')) word.remove_suffix(1);
      if (!word.empty()) return word;
    }
    return {};
  }
  static std::uint64_t count() { return 1; }

 private:
  static constexpr std::uint64_t kOnes = 0x0101010101010101u;
  static constexpr std::uint64_t kLineEnds = kOnes * '\n';

  /// The lowest set bit of the result is the top bit of the first byte that is zero.
  static std::uint64_t zero_bytes(std::uint64_t bytes) { return (bytes - kOnes) & ~bytes & (kOnes << 7); }

  std::size_t end_of_word(std::size_t i) const {
    for (; i + 8 <= text_.size(); i += 8) {
      std::uint64_t bytes;
      std::memcpy(&bytes, text_.data() + i, 8);
      const std::uint64_t ends = zero_bytes(bytes ^ kLineEnds) | zero_bytes(bytes ^ seconds_);
      if (ends != 0) return i + static_cast<std::size_t>(std::countr_zero(ends)) / 8;
    }
    while (i < text_.size() && text_[i] != '\n' && text_[i] != second_end_) ++i;
    return i;
  }

  std::string_view text_;
  char second_end_;
  std::uint64_t seconds_;
  std::size_t begin_ = 0;
};

/// Looks words up in groups: when the first word of a group is compared, the table entries of all are being fetched
/// from memory. Moves full tables to `runs`.
template <class Words>
void count_chunk(Words& words, WordCounts& counts, WordRuns& runs) {
  struct Waiting {
    std::string_view word;
    std::uint64_t count;
    WordKey key;
  };
  constexpr std::size_t kGroup = 16;
  std::array<Waiting, kGroup> group;
  for (std::size_t size = kGroup; size == kGroup;) {
    for (size = 0; size < kGroup; ++size) {
      const std::string_view word = words.next();
      if (word.empty()) break;
      group[size] = {word, words.count(), WordKey::padded(word)};
      counts.table(group[size].key).prefetch(group[size].key);
    }
    for (std::size_t i = 0; i < size; ++i) counts.table(group[i].key).add(group[i].word, group[i].key, group[i].count);
    if (counts.is_full()) [[unlikely]]
      runs.take(counts);
  }
}

/// The error of the first chunk with one. Chunks are processed in any order, but those before a chunk that fails are
/// processed to their end. Thread-safe.
class FirstError {
 public:
  /// Keeps the exception that is being handled, unless an earlier line has one.
  void keep_current(std::uint64_t line) {
    const std::lock_guard lock(mutex_);
    if (error_ != nullptr && line_ <= line) return;
    line_ = line;
    error_ = std::current_exception();
  }
  void rethrow_if_any() const {
    const std::lock_guard lock(mutex_);
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t line_ = 0;
  std::exception_ptr error_;
};

/// Counts the chunks of files on all threads of an arena.
class Counting {
 public:
  Counting(const WordSource& source, const MemoryPlan& plan, ThreadArena& arena, const core::ProgressSink& progress,
           const std::stop_token& stop)
      : source_(source),
        plan_(plan),
        arena_(arena),
        progress_(progress),
        stop_(stop),
        counts_(plan.table_bytes),
        runs_(std::make_unique<WordRuns>(plan.temporary_folder, stop)) {}

  CountedWords count() {
    if (source_.kind == WordSource::Kind::kTexts)
      count_texts();
    else
      for (const std::filesystem::path& file : source_.files) count_count_file(file);
    return finish();
  }

 private:
  void count_texts() {
    ChunkReader reader(source_.files, source_.whole_lines ? ChunkReader::Unit::kLine : ChunkReader::Unit::kWord,
                       run_stop_.token(), plan_.chunk_bytes, source_.invalid_utf8, source_.log);
    for_each_chunk(reader, [&](const Chunk& chunk) {
      TextWordReader words(chunk.text(), source_.whole_lines);
      count_words(words);
    });
  }

  /// Reads one file at a time, so that lines are numbered by file.
  void count_count_file(const std::filesystem::path& file) {
    ChunkReader reader({file}, ChunkReader::Unit::kLine, run_stop_.token(), plan_.chunk_bytes);
    const std::string name = file == "-" ? "standard input" : file.string();
    FirstError error;
    try {
      for_each_chunk(reader, [&](const Chunk& chunk) {
        try {
          count_lines(chunk, name);
        } catch (...) {
          error.keep_current(chunk.first_line);
          throw;
        }
      });
    } catch (...) {
      error.rethrow_if_any();
      throw;
    }
    bytes_before_ += reader.bytes_read();
  }

  /// Counts the words of a chunk of a file of counts.
  void count_lines(const Chunk& chunk, const std::string& name) {
    CountFileReader words(chunk.text(), {.name = name,
                                         .first_line = chunk.first_line,
                                         .whole_lines = source_.whole_lines,
                                         .counted = occurrences_.load()});
    count_words(words);
    core::require(occurrences_.fetch_add(words.occurrences()) <= CountFileReader::kMaxOccurrences - words.occurrences(),
                  core::ErrorCode::kBadInput,
                  "{}: lines from {} on: with them, all counts together reach 2^63, which is too many", name,
                  chunk.first_line + 1);
  }

  template <class Words>
  void count_words(Words& words) {
    counts_.with([&](WordCounts& counts) { count_chunk(words, counts, *runs_); });
  }

  template <class Count>
  void for_each_chunk(ChunkReader& reader, Count&& count) {
    const auto read = [&](Chunk& chunk) {
      core::require(!stop_.stop_requested(), core::ErrorCode::kInterrupted,
                    "interrupted while counting words; nothing was written");
      core::report(progress_, {.stage = "count words",
                               .done = bytes_before_ + reader.bytes_read(),
                               .total = 0,
                               .unit = "bytes",
                               .figures = {}});
      reader.next(chunk);
      return chunk.size > 0;
    };
    visit_chunks(arena_.executor(), run_stop_, read, count);
  }

  CountedWords finish() {
    if (runs_->empty() && counts_.bytes() <= plan_.in_memory_bytes) return {counts_.join(arena_), nullptr};
    counts_.move_to(*runs_);
    return {WordCounts(), std::move(runs_)};
  }

  const WordSource& source_;
  const MemoryPlan& plan_;
  ThreadArena& arena_;
  const core::ProgressSink& progress_;
  const std::stop_token& stop_;
  core::RunStop run_stop_{stop_};
  ThreadCounts counts_;
  std::unique_ptr<WordRuns> runs_;
  std::uint64_t bytes_before_ = 0;
  std::atomic<std::uint64_t> occurrences_ = 0;
};

}  // namespace

WordCounts ThreadCounts::join(ThreadArena& arena) {
  auto& parts = counts_.all();
  if (parts.empty()) return {};
  WordCounts all = std::move(*parts.front());
  all.lift_limit();
  arena.for_each(WordCounts::kTables, [&](std::size_t t) {
    for (std::size_t other = 1; other < parts.size(); ++other) {
      WordTable& table = parts[other]->table(t);
      table.for_each([&](std::string_view word, std::uint64_t n) { all.table(t).add(word, WordKey::of(word), n); });
      table = WordTable();
    }
  });
  parts.clear();
  return all;
}

std::size_t ThreadCounts::bytes() const {
  std::size_t bytes = 0;
  for (const auto& counts : counts_.all()) bytes += counts->bytes();
  return bytes;
}

void ThreadCounts::move_to(WordRuns& runs) {
  for (const auto& counts : counts_.all()) runs.take(*counts);
  counts_.all().clear();
}

void report_dropped(const WordTotal& dropped, const WordTotal& all, std::uint64_t min_count, const core::LogSink& log) {
  if (min_count < 2) return;
  const auto percent = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
  };
  core::log(
      log, core::LogLevel::kInfo,
      fmt::format("left out {} of {} distinct words, which occur fewer than {} times: {:.2f}% of them, {:.3f}% of "
                  "the text",
                  dropped.words, all.words, min_count, percent(dropped.words, all.words),
                  percent(dropped.occurrences, all.occurrences)));
}

CountedWords collect_words(const WordSource& source, const MemoryPlan& plan, ThreadArena& arena,
                           const core::ProgressSink& progress, const std::stop_token& stop) {
  return Counting(source, plan, arena, progress, stop).count();
}

}  // namespace dragoman::tokenizer

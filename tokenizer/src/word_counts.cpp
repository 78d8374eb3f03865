#include "word_counts.h"

#include "chunk_reader.h"

#include <array>
#include <memory>

#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

/// Cuts text at spaces and line ends, or only at line ends, eight bytes at a time.
class WordScanner {
 public:
  WordScanner(std::string_view text, bool whole_lines)
      : text_(text), second_end_(whole_lines ? '\n' : ' '), seconds_(kOnes * static_cast<unsigned char>(second_end_)) {}

  /// The next word that is not empty, or an empty one at the end.
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

 private:
  static constexpr std::uint64_t kOnes = 0x0101010101010101u;
  static constexpr std::uint64_t kLineEnds = kOnes * '\n';

  /// The lowest set bit is the top bit of the first byte that is zero.
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

/// Looks words up in groups: by the time the first of a group is compared, the table entries of all are on their way
/// from memory.
void count_chunk(std::string_view text, bool whole_lines, WordCounts& counts) {
  struct Waiting {
    std::string_view word;
    WordKey key;
  };
  constexpr std::size_t kGroup = 16;
  std::array<Waiting, kGroup> group;
  WordScanner scanner(text, whole_lines);
  for (std::size_t size = kGroup; size == kGroup;) {
    for (size = 0; size < kGroup; ++size) {
      const std::string_view word = scanner.next();
      if (word.empty()) break;
      group[size] = {word, WordKey::padded(word)};
      counts.table(group[size].key).prefetch(group[size].key);
    }
    for (std::size_t i = 0; i < size; ++i) counts.table(group[i].key).add(group[i].word, group[i].key, 1);
  }
}

}  // namespace

WordCounts ThreadCounts::join() {
  if (counts_.empty()) return {};
  WordCounts& all = *counts_.begin();
  tbb::parallel_for(std::size_t{0}, WordCounts::kTables, [&](std::size_t t) {
    for (auto other = std::next(counts_.begin()); other != counts_.end(); ++other) {
      other->table(t).for_each(
          [&](std::string_view word, std::uint64_t n) { all.table(t).add(word, WordKey::of(word), n); });
      other->table(t) = WordTable();
    }
  });
  WordCounts joined = std::move(all);
  counts_.clear();
  return joined;
}

WordCounts count_words(const std::vector<std::filesystem::path>& inputs, bool whole_lines, ThreadArena& arena,
                       const core::ProgressSink& progress, const std::stop_token& stop) {
  ChunkReader reader(inputs, whole_lines ? ChunkReader::Unit::kLine : ChunkReader::Unit::kWord, stop);
  ChunkPool pool;
  ThreadCounts counts;
  const auto read = [&](tbb::flow_control& control) {
    core::require(!stop.stop_requested(), core::ErrorCode::kInterrupted,
                  "interrupted while counting words; nothing was written");
    core::report(progress,
                 {.stage = "count words", .done = reader.bytes_read(), .total = 0, .unit = "bytes", .figures = {}});
    std::shared_ptr<Chunk> chunk = pool.take();
    reader.next(*chunk);
    if (chunk->size == 0) control.stop();
    return chunk;
  };
  const auto count = [&](const std::shared_ptr<Chunk>& chunk) {
    count_chunk(chunk->text(), whole_lines, counts.local());
    pool.give_back(chunk);
  };
  WordCounts joined;
  arena.execute([&] {
    using Item = std::shared_ptr<Chunk>;
    tbb::parallel_pipeline(arena.tokens(), tbb::make_filter<void, Item>(tbb::filter_mode::serial_in_order, read) &
                                               tbb::make_filter<Item, void>(tbb::filter_mode::parallel, count));
    joined = counts.join();
  });
  return joined;
}

}  // namespace dragoman::tokenizer

#include "word_counts.h"

#include "hash.h"
#include "thread_arena.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>

namespace dragoman::tokenizer {
namespace {

constexpr std::size_t kInitialEntries = std::size_t{1} << 12;
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

/// Reads files one after the other in chunks that end where a word does.
class ChunkReader {
 public:
  ChunkReader(const std::vector<std::filesystem::path>& inputs, bool whole_lines, const std::stop_token& stop)
      : inputs_(inputs), whole_lines_(whole_lines), stop_(stop) {}

  /// The next chunk, or an empty text at the end.
  std::string next() {
    std::string chunk = std::move(rest_);
    rest_.clear();
    while (open_next()) {
      const std::size_t begin = chunk.size();
      chunk.resize(begin + kChunkBytes);
      const std::size_t got = file_->read({chunk.data() + begin, kChunkBytes});
      chunk.resize(begin + got);
      bytes_read_ += got;
      if (got == 0) {
        file_.reset();
        if (!chunk.empty()) return chunk;
        continue;
      }
      const std::size_t end = last_boundary(chunk, begin);
      if (end == 0) continue;
      rest_ = chunk.substr(end);
      chunk.resize(end);
      return chunk;
    }
    return chunk;
  }

  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  bool open_next() {
    if (!file_ && next_input_ < inputs_.size()) file_.emplace(inputs_[next_input_++], stop_);
    return file_.has_value();
  }

  /// The end of the last whole word (or line) in the chunk, of which only what follows `from` is new; 0 if there is
  /// none.
  std::size_t last_boundary(const std::string& chunk, std::size_t from) const {
    for (std::size_t i = chunk.size(); i > from; --i)
      if (chunk[i - 1] == '\n' || (!whole_lines_ && chunk[i - 1] == ' ')) return i;
    return 0;
  }

  const std::vector<std::filesystem::path>& inputs_;
  bool whole_lines_;
  std::stop_token stop_;
  std::size_t next_input_ = 0;
  std::optional<core::InputFile> file_;
  std::string rest_;
  std::uint64_t bytes_read_ = 0;
};

void count_chunk(std::string_view chunk, bool whole_lines, WordTable& table) {
  const auto is_end = [&](char c) { return c == '\n' || (c == ' ' && !whole_lines); };
  for (std::size_t begin = 0; begin < chunk.size();) {
    std::size_t end = begin;
    while (end < chunk.size() && !is_end(chunk[end])) ++end;
    std::string_view word = chunk.substr(begin, end - begin);
    if (end < chunk.size() && chunk[end] == '\n' && word.ends_with('\r')) word.remove_suffix(1);
    if (!word.empty()) table.add(word);
    begin = end + 1;
  }
}

}  // namespace

WordTable::WordTable() : entries_(kInitialEntries) {}

void WordTable::add(std::string_view word, std::uint64_t count) {
  core::require(word.size() <= 0xFFFFFFFF, core::ErrorCode::kBadInput, "a word of {} bytes is too long", word.size());
  const std::uint64_t hash = hash_bytes(word);
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  const std::size_t mask = entries_.size() - 1;
  std::size_t i = hash & mask;
  for (; entries_[i].data != nullptr; i = (i + 1) & mask) {
    Entry& entry = entries_[i];
    if (entry.hash == tag && entry.length == word.size() && std::memcmp(entry.data, word.data(), word.size()) == 0) {
      entry.count += count;
      return;
    }
  }
  entries_[i] = {store(word), static_cast<std::uint32_t>(word.size()), tag, count};
  if (++size_ * 2 > entries_.size()) grow();
}

void WordTable::add_all(const WordTable& other) {
  for (const Entry& entry : other.entries_)
    if (entry.data != nullptr) add({entry.data, entry.length}, entry.count);
}

std::vector<WordCount> WordTable::sorted() const {
  std::vector<WordCount> words;
  words.reserve(size_);
  for (const Entry& entry : entries_)
    if (entry.data != nullptr) words.push_back({{entry.data, entry.length}, entry.count});
  std::sort(words.begin(), words.end(), [](const WordCount& a, const WordCount& b) {
    return a.count != b.count ? a.count > b.count : a.word < b.word;
  });
  return words;
}

void WordTable::grow() {
  std::vector<Entry> old(entries_.size() * 2);
  old.swap(entries_);
  const std::size_t mask = entries_.size() - 1;
  for (const Entry& entry : old) {
    if (entry.data == nullptr) continue;
    std::size_t i = hash_bytes({entry.data, entry.length}) & mask;
    while (entries_[i].data != nullptr) i = (i + 1) & mask;
    entries_[i] = entry;
  }
}

const char* WordTable::store(std::string_view word) {
  if (word.size() > free_bytes_) {
    free_bytes_ = std::max(kBlockBytes, word.size());
    blocks_.push_back(std::make_unique<char[]>(free_bytes_));
    free_ = blocks_.back().get();
  }
  char* place = free_;
  std::memcpy(place, word.data(), word.size());
  free_ += word.size();
  free_bytes_ -= word.size();
  return place;
}

WordTable count_words(const std::vector<std::filesystem::path>& inputs, bool whole_lines, int threads,
                      const core::ProgressSink& progress, const std::stop_token& stop) {
  ChunkReader reader(inputs, whole_lines, stop);
  tbb::enumerable_thread_specific<WordTable> tables;
  const auto read = [&](tbb::flow_control& control) -> std::string {
    core::require(!stop.stop_requested(), core::ErrorCode::kInterrupted,
                  "interrupted while counting words; nothing was written");
    core::report(progress,
                 {.stage = "count words", .done = reader.bytes_read(), .total = 0, .unit = "bytes", .figures = {}});
    std::string chunk = reader.next();
    if (chunk.empty()) control.stop();
    return chunk;
  };
  const auto count = [&](const std::string& chunk) { count_chunk(chunk, whole_lines, tables.local()); };
  ThreadArena arena(threads);
  arena.execute([&] {
    tbb::parallel_pipeline(arena.tokens(),
                           tbb::make_filter<void, std::string>(tbb::filter_mode::serial_in_order, read) &
                               tbb::make_filter<std::string, void>(tbb::filter_mode::parallel, count));
  });
  WordTable all;
  for (const WordTable& table : tables) all.add_all(table);
  return all;
}

}  // namespace dragoman::tokenizer

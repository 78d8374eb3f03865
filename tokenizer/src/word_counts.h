#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

#include <dragoman/core/log.h>

namespace dragoman::tokenizer {

struct WordCount {
  std::string_view word;
  std::uint64_t count;
};

/// Distinct words with how often they occur: open addressing over entries whose bytes lie in blocks of their own.
class WordTable {
 public:
  WordTable();
  void add(std::string_view word, std::uint64_t count = 1);
  void add_all(const WordTable& other);
  std::size_t size() const noexcept { return size_; }
  /// By falling count, then by bytes: an order that does not depend on who counted what. The words lie in this table.
  std::vector<WordCount> sorted() const;

 private:
  struct Entry {
    const char* data = nullptr;
    std::uint32_t length = 0;
    std::uint32_t hash = 0;
    std::uint64_t count = 0;
  };

  void grow();
  const char* store(std::string_view word);

  std::vector<Entry> entries_;
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;
  std::size_t free_bytes_ = 0;
};

/// Counts the words of text files, which lie between spaces and line ends; a CR before LF belongs to the line end. With
/// `whole_lines`, lines are counted instead. Reads block by block; `threads` of 0 means core::default_threads().
WordTable count_words(const std::vector<std::filesystem::path>& inputs, bool whole_lines, int threads,
                      const core::ProgressSink& progress, const std::stop_token& stop);

}  // namespace dragoman::tokenizer

#pragma once

#include "reading/k_way_merge.h"
#include "reading/word_table.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// A file without a name, which disappears however the program ends. A full disk is an Error{kIo} that names the
/// folder.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& folder);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  void append(std::string_view bytes);
  /// Returns the number of bytes read, 0 at the end. Thread-safe.
  std::size_t read(std::uint64_t offset, char* data, std::size_t size) const;

 private:
  std::string folder_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// Distinct words with their counts on disk, in the order of their bytes. The file lives as long as a copy of this
/// object.
struct WordRun {
  std::shared_ptr<const TemporaryFile> file;
  std::uint64_t words = 0;
};

class RunWriter {
 public:
  explicit RunWriter(const std::filesystem::path& folder);
  /// Adds a word. Words must be distinct and come in the order of their bytes.
  void add(std::string_view word, std::uint64_t count);
  WordRun finish();

 private:
  void flush();

  std::shared_ptr<TemporaryFile> file_;
  std::string buffer_;
  std::uint64_t words_ = 0;
};

class RunReader {
 public:
  explicit RunReader(WordRun run);
  bool next();
  std::string_view word() const { return word_; }
  std::uint64_t count() const { return count_; }

 private:
  bool have(std::size_t bytes);
  std::uint64_t number();

  WordRun run_;
  std::uint64_t offset_ = 0;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::string_view word_;
  std::uint64_t count_ = 0;
};

/// Words that did not fit into memory, as sorted runs on disk. kMaxMerged runs are merged at a time, so that few files
/// are open and their buffers stay small, however often memory runs out.
class WordRuns {
 public:
  using Merge = KWayMerge<RunReader>;
  static constexpr std::size_t kMaxMerged = 64;

  WordRuns(std::filesystem::path folder, std::stop_token stop) : folder_(std::move(folder)), stop_(std::move(stop)) {}

  /// Writes all words to disk and clears the tables. Thread-safe.
  void take(WordCounts& counts);
  /// Adds a run. Thread-safe.
  void add(WordRun run);
  bool empty() const noexcept { return levels_.empty(); }
  /// Returns all words in one order, and removes the runs.
  Merge merge();
  const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  WordRun merge_to_one(std::vector<WordRun> runs) const;

  std::filesystem::path folder_;
  std::stop_token stop_;
  std::mutex mutex_;
  /// The runs that were added, runs merged from those, runs merged from the latter, ...
  std::vector<std::vector<WordRun>> levels_;
};

}  // namespace dragoman::tokenizer

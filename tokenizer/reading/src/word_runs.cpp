#include "reading/word_runs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <fcntl.h>
#include <unistd.h>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 16;
constexpr std::size_t kWriteBytes = std::size_t{1} << 18;
/// The number of words that are merged between checks of the stop request.
constexpr std::uint64_t kStopInterval = std::uint64_t{1} << 16;
constexpr unsigned kBitsPerByte = 7;
constexpr std::size_t kLongestNumber = 10;

/// Writes seven bits per byte, lowest first. The top bit means that more bytes follow.
void append_number(std::string& bytes, std::uint64_t number) {
  for (; number >> kBitsPerByte != 0; number >>= kBitsPerByte) bytes += static_cast<char>(number | 0x80);
  bytes += static_cast<char>(number);
}

[[noreturn]] void fail_to_write(const std::string& folder, int error, std::uint64_t size) {
  core::fail(core::ErrorCode::kIo,
             "{}: cannot write temporary words there: {} ({} MB into a file); make room, name another folder (TMPDIR), "
             "or allow more memory",
             folder, std::strerror(error), size >> 20);
}

}  // namespace

TemporaryFile::TemporaryFile(const std::filesystem::path& folder) : folder_(folder.string()) {
  std::string name = (folder / "dragoman-words-XXXXXX").string();
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  core::require(descriptor_ >= 0, core::ErrorCode::kIo,
                "{}: cannot make a temporary file there: {}; name another folder (TMPDIR), or allow more memory",
                folder_, std::strerror(errno));
  ::unlink(name.c_str());
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void TemporaryFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_to_write(folder_, errno, size_);
    size_ += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::size_t TemporaryFile::read(std::uint64_t offset, char* data, std::size_t size) const {
  for (;;) {
    const ssize_t got = ::pread(descriptor_, data, size, static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    core::require(errno == EINTR, core::ErrorCode::kIo, "{}: cannot read temporary words: {}", folder_,
                  std::strerror(errno));
  }
}

RunWriter::RunWriter(const std::filesystem::path& folder) : file_(std::make_shared<TemporaryFile>(folder)) {
  buffer_.reserve(kWriteBytes);
}

void RunWriter::add(std::string_view word, std::uint64_t count) {
  if (buffer_.size() + word.size() + 2 * kLongestNumber > kWriteBytes) flush();
  append_number(buffer_, count);
  append_number(buffer_, word.size());
  buffer_ += word;
  ++words_;
}

void RunWriter::flush() {
  file_->append(buffer_);
  buffer_.clear();
}

WordRun RunWriter::finish() {
  flush();
  return {std::move(file_), words_};
}

RunReader::RunReader(WordRun run) : run_(std::move(run)) {}

bool RunReader::next() {
  if (!have(2 * kLongestNumber) && begin_ == end_) return false;
  count_ = number();
  const auto size = static_cast<std::size_t>(number());
  core::require(have(size), core::ErrorCode::kIo, "a temporary file with words is shorter than what was written to it");
  word_ = {buffer_.data() + begin_, size};
  begin_ += size;
  return true;
}

/// Reads until the buffer holds that many bytes. Returns false if the file ends before.
bool RunReader::have(std::size_t bytes) {
  if (end_ - begin_ >= bytes) return true;
  if (begin_ > 0) std::copy(buffer_.data() + begin_, buffer_.data() + end_, buffer_.data());
  end_ -= std::exchange(begin_, 0);
  if (buffer_.size() < std::max(bytes, kReadBytes)) buffer_.resize(std::max(bytes, kReadBytes));
  while (end_ < bytes) {
    const std::size_t got = run_.file->read(offset_, buffer_.data() + end_, buffer_.size() - end_);
    if (got == 0) return false;
    offset_ += got;
    end_ += got;
  }
  return true;
}

std::uint64_t RunReader::number() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; begin_ < end_; shift += kBitsPerByte) {
    const auto byte = static_cast<unsigned char>(buffer_[begin_++]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

void WordRuns::take(WordCounts& counts) {
  for (std::size_t t = 0; t < WordCounts::kTables; ++t) counts.table(t).sort();
  RunWriter writer(folder_);
  for (auto words = merge_tables(counts); words.next();) writer.add(words.word(), words.count());
  counts.clear();
  add(writer.finish());
}

void WordRuns::add(WordRun run) {
  const std::lock_guard lock(mutex_);
  for (std::size_t level = 0;; ++level) {
    if (level == levels_.size()) levels_.emplace_back();
    levels_[level].push_back(std::move(run));
    if (levels_[level].size() < kMaxMerged) return;
    run = merge_to_one(std::exchange(levels_[level], {}));
  }
}

WordRun WordRuns::merge_to_one(std::vector<WordRun> runs) const {
  RunWriter writer(folder_);
  Merge words({std::make_move_iterator(runs.begin()), std::make_move_iterator(runs.end())});
  for (std::uint64_t n = 0; words.next(); ++n) {
    if (n % kStopInterval == 0)
      core::require(!stop_.stop_requested(), core::ErrorCode::kInterrupted,
                    "interrupted while sorting words; nothing was written");
    writer.add(words.word(), words.count());
  }
  return writer.finish();
}

/// The first levels hold the smallest runs, which are the cheapest to merge once more.
WordRuns::Merge WordRuns::merge() {
  std::vector<WordRun> runs;
  for (auto& level : levels_) std::move(level.begin(), level.end(), std::back_inserter(runs));
  levels_.clear();
  while (runs.size() > kMaxMerged) {
    const auto end = runs.begin() + std::min(kMaxMerged, runs.size() - kMaxMerged + 1);
    WordRun merged = merge_to_one({runs.begin(), end});
    runs.erase(runs.begin(), end);
    runs.push_back(std::move(merged));
  }
  std::vector<RunReader> readers;
  for (WordRun& run : runs) readers.emplace_back(std::move(run));
  return Merge(std::move(readers));
}

}  // namespace dragoman::tokenizer

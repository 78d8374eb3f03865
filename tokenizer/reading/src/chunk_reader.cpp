#include "reading/chunk_reader.h"

#include "reading/count_lines.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

void make_room(Chunk& chunk, std::size_t bytes) {
  const std::size_t needed = chunk.size + bytes + Chunk::kPadding;
  if (needed > chunk.bytes.size()) chunk.bytes.resize(std::max(needed, chunk.bytes.size() * 2));
}

}  // namespace

std::shared_ptr<Chunk> ChunkPool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::make_shared<Chunk>();
  std::shared_ptr<Chunk> chunk = std::move(free_.back());
  free_.pop_back();
  return chunk;
}

void ChunkPool::give_back(std::shared_ptr<Chunk> chunk) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(chunk));
}

void ChunkReader::next(Chunk& chunk) {
  chunk.size = 0;
  make_room(chunk, rest_.size());
  std::copy(rest_.begin(), rest_.end(), chunk.bytes.data());
  chunk.size = rest_.size();
  rest_.clear();
  while (open_next() && !fill(chunk)) {
  }
  utf8_.apply(chunk, name_);
  if (unit_ == Unit::kWord) return;
  chunk.first_line = lines_read_;
  lines_read_ += count_line_feeds(chunk.text());
  if (chunk.size > 0 && !chunk.text().ends_with('\n')) ++lines_read_;
}

/// Reads more bytes. Returns whether the chunk is then complete.
bool ChunkReader::fill(Chunk& chunk) {
  constexpr std::size_t kLongest = std::size_t{1} << 30;
  const std::size_t begin = chunk.size;
  core::require(begin <= kLongest, core::ErrorCode::kBadInput, "{}: a {} is longer than {} bytes; is this a text file?",
                file_->name(), unit_ == Unit::kWord ? "word" : "line", kLongest);
  // While a vector grows to twice its size, both copies exist.
  core::require(begin <= kChunkBytes || begin < limit_ / 4, core::ErrorCode::kBadInput,
                "{}: a {} of more than {} bytes is too long for the memory budget; allow more memory", file_->name(),
                unit_ == Unit::kWord ? "word" : "line", begin);
  make_room(chunk, kChunkBytes);
  const std::size_t got = file_->read({chunk.bytes.data() + begin, kChunkBytes});
  chunk.size += got;
  bytes_read_ += got;
  if (std::exchange(at_file_start_, false)) drop_byte_order_mark(chunk, begin);
  if (got == 0) {
    file_.reset();
    return chunk.size > 0;
  }
  const std::size_t end = last_boundary(chunk.text(), begin);
  if (end == 0) return false;
  rest_ = chunk.text().substr(end);
  chunk.size = end;
  return true;
}

/// The mark indicates the encoding and is not text. core::LineReader skips it as well.
void ChunkReader::drop_byte_order_mark(Chunk& chunk, std::size_t begin) {
  if (!chunk.text().substr(begin).starts_with(core::kByteOrderMark)) return;
  core::log(std::exchange(log_, {}), core::LogLevel::kInfo,
            fmt::format("{}: the byte order mark at its start is left out", name_));
  const auto text = chunk.bytes.begin() + static_cast<std::ptrdiff_t>(begin);
  std::copy(text + core::kByteOrderMark.size(), chunk.bytes.begin() + static_cast<std::ptrdiff_t>(chunk.size), text);
  chunk.size -= core::kByteOrderMark.size();
  utf8_.skip(core::kByteOrderMark.size());
}

bool ChunkReader::open_next() {
  if (!file_ && next_input_ < inputs_.size()) {
    file_.emplace(inputs_[next_input_++], stop_);
    name_ = file_->name();
    at_file_start_ = true;
    utf8_.begin_file();
  }
  return file_.has_value();
}

/// Returns the end of the last whole word (or line) in the text, of which only the part after `from` is new; 0 if there
/// is none.
std::size_t ChunkReader::last_boundary(std::string_view text, std::size_t from) const {
  for (std::size_t i = text.size(); i > from; --i)
    if (text[i - 1] == '\n' || (unit_ == Unit::kWord && text[i - 1] == ' ')) return i;
  return 0;
}

}  // namespace dragoman::tokenizer

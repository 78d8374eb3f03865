#include "decoding/bpe_streaming_decoder.h"

#include "definition/escapes.h"

#include <algorithm>
#include <utility>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

/// Returns the number of bytes at the end of the text that may be the beginning of a character.
std::size_t unfinished_bytes(std::string_view text) {
  constexpr std::size_t kMax = 3;
  for (std::size_t count = std::min(kMax, text.size()); count > 0; --count) {
    const std::string_view tail = text.substr(text.size() - count);
    const core::DecodedCharacter c = core::decode_utf8(tail, 0);
    // An ill-formed sequence is as long as its valid prefix of a character, so one at the end of the text may be
    // completed.
    if (!c.valid && c.length == count && core::utf8_length(static_cast<unsigned char>(tail[0])) > count) return count;
  }
  return 0;
}

}  // namespace

void check_id(std::int32_t id, std::int32_t size) {
  core::require(id >= 0 && id < size, core::ErrorCode::kInvalidArgument,
                "the id {} is not in the vocabulary, whose ids run from 0 to {}", id,
                static_cast<std::int64_t>(size) - 1);
}

BpeStreamingDecoder::BpeStreamingDecoder(const BpeDecoder& decoder, std::int32_t size)
    : decoder_(decoder), size_(size) {}

void BpeStreamingDecoder::decode(std::int32_t id, std::string& text) {
  check_id(id, size_);
  const bool is_first = first_ && decoder_.has_first_surfaces() && !decoder_.is_special(id);
  const std::string_view surface = is_first ? decoder_.first_surface(id) : decoder_.surface(id);
  first_ = first_ && decoder_.is_special(id);
  add_surface(surface, decoder_.ends_word(id), text);
}

void BpeStreamingDecoder::decode_text(std::string_view piece, std::string& text) {
  const std::string surface = decoder_.surface_of_text(piece, std::exchange(first_, false));
  add_surface(surface, false, text);
}

void BpeStreamingDecoder::add_surface(std::string_view surface, bool ends_word, std::string& text) {
  if (surface.empty()) return;
  if (space_waits_) add(" ", text);
  space_waits_ = ends_word;
  if (space_waits_) surface.remove_suffix(1);
  add(surface, text);
}

void BpeStreamingDecoder::finish(std::string& text) {
  if (!escaped_.empty()) add_unescaped(std::exchange(escaped_, {}), text);  // it is not an escape
  strip_start(false);
  text += waiting_;
  waiting_.clear();
  before_.clear();
  space_waits_ = false;
  first_ = true;
  stripped_ = 0;
  stripping_ = true;
}

void BpeStreamingDecoder::add(std::string_view joined, std::string& text) {
  if (decoder_.escapes().empty()) return add_unescaped(joined, text);
  escaped_ += joined;
  std::string undone;
  escaped_.erase(0, undo_escapes(decoder_.escapes(), escaped_, true, undone));
  add_unescaped(undone, text);
}

void BpeStreamingDecoder::add_unescaped(std::string_view joined, std::string& text) {
  if (!decoder_.symbols().empty())
    drop_spaces_after_symbols(joined);
  else
    waiting_ += joined;
  if (strip_start(true)) give_whole_characters(text);
}

void BpeStreamingDecoder::drop_spaces_after_symbols(std::string_view joined) {
  for (const char c : joined) {
    if (c != ' ' || !decoder_.symbols().has_end_of(before_)) waiting_ += c;
    before_ += c;
  }
  // Done rarely, so that each byte is moved about once.
  const std::size_t longest = decoder_.symbols().longest();
  if (before_.size() > 2 * longest + 64) before_.erase(0, before_.size() - longest);
}

/// Removes the prefix to strip. Returns false while the result depends on text that may still come (`more`).
bool BpeStreamingDecoder::strip_start(bool more) {
  const std::string& strip = decoder_.strip();
  while (stripping_ && stripped_ < decoder_.strip_count() && !strip.empty() && waiting_.starts_with(strip)) {
    waiting_.erase(0, strip.size());
    ++stripped_;
  }
  const bool open = more && stripping_ && stripped_ < decoder_.strip_count() && waiting_.size() < strip.size() &&
                    std::string_view(strip).starts_with(waiting_);
  if (!open) stripping_ = false;
  return !open;
}

void BpeStreamingDecoder::give_whole_characters(std::string& text) {
  const std::size_t whole = waiting_.size() - unfinished_bytes(waiting_);
  text.append(waiting_, 0, whole);
  waiting_.erase(0, whole);
}

}  // namespace dragoman::tokenizer

#include "reading/utf8_policy.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

std::uint64_t count_lines(std::string_view text) {
  return static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
}

void replace_invalid(Chunk& chunk) {
  std::string text(chunk.text());
  core::replace_invalid_utf8(text);
  chunk.bytes.resize(std::max(chunk.bytes.size(), text.size() + Chunk::kPadding));
  std::ranges::copy(text, chunk.bytes.begin());
  chunk.size = text.size();
}

}  // namespace

void Utf8Policy::apply(Chunk& chunk, const std::string& file) {
  if (what_ == InvalidUtf8::kKeep) return;
  const std::size_t place = core::find_invalid_utf8(chunk.text());
  if (place != std::string::npos && what_ == InvalidUtf8::kFail) fail_at(place, chunk, file);
  lines_ += count_lines(chunk.text());
  bytes_ += chunk.size;
  if (place != std::string::npos) replace_invalid(chunk);
}

void Utf8Policy::fail_at(std::size_t place, const Chunk& chunk, const std::string& file) const {
  core::fail(
      core::ErrorCode::kBadInput,
      "{}: line {}: the byte 0x{:02X} at offset {} of the file is not valid UTF-8; convert the file to UTF-8, or "
      "let such bytes be kept or replaced",
      file, lines_ + count_lines(chunk.text().substr(0, place)) + 1, static_cast<unsigned char>(chunk.text()[place]),
      bytes_ + place);
}

}  // namespace dragoman::tokenizer

#include "bpe/bpe_model.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/word_mark.h>

/// The functions of BpeModel that split words into the initial symbols of the merges.
namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;

std::string describe_character(std::string_view character) {
  const core::DecodedCharacter c = core::decode_utf8(character, 0);
  return c.valid ? fmt::format("U+{:04X}", static_cast<std::uint32_t>(c.code_point))
                 : fmt::format("byte 0x{:02X}", static_cast<unsigned char>(character[0]));
}

/// core::decode_utf8() with the most frequent cases inline: ASCII, and three bytes up to U+D7FF.
core::DecodedCharacter decode(std::string_view text, std::size_t i) noexcept {
  const auto first = static_cast<unsigned char>(text[i]);
  if (first < 0x80) return {first, 1, true};
  std::uint32_t bytes;
  if (i + sizeof bytes <= text.size()) {
    std::memcpy(&bytes, text.data() + i, sizeof bytes);
    const std::uint32_t character = (bytes & 0xF) << 12 | (bytes >> 2 & 0xFC0) | (bytes >> 16 & 0x3F);
    if ((bytes & 0xC0C0F0) == 0x8080E0 && character >= 0x800 && character < 0xD800) return {character, 3, true};
  }
  return core::decode_utf8(text, i);
}

}  // namespace

std::int32_t* BpeModel::split(std::string_view word, std::int32_t* to) const noexcept {
  if (byte_level_) return split_bytes(word, to);
  for (std::size_t i = 0; i < word.size();) {
    const core::DecodedCharacter c = decode(word, i);
    const std::int32_t id = c.valid ? characters_.find(c.code_point) : -1;
    if (id >= 0)
      *to++ = id;
    else if (has_all_bytes_)
      to = std::transform(word.begin() + i, word.begin() + i + c.length, to,
                          [this](char byte) { return bytes_[static_cast<unsigned char>(byte)]; });
    else
      return nullptr;
    i += c.length;
  }
  return to;
}

std::int32_t* BpeModel::split_bytes(std::string_view word, std::int32_t* to) const noexcept {
  if (const std::int32_t id = definition_->ignore_merges ? vocabulary_.find(word) : -1; id >= 0) {
    *to = id;
    return to + 1;
  }
  std::int32_t least = 0;
  for (const char byte : word) {
    *to = bytes_[static_cast<unsigned char>(byte)];
    least = std::min(least, *to++);
  }
  return least < 0 ? nullptr : to;
}

void BpeModel::split_characters(std::string_view word, std::vector<Symbol>& out) const {
  out.clear();
  if (byte_level_) return split_bytes(word, out);
  if (byte_fallback_ && !has_all_bytes_) return split_with_few_bytes(word, out);
  core::StopCheck check("encoding a text");
  for (std::size_t i = 0; i < word.size();) {
    check();
    const core::DecodedCharacter c = decode(word, i);
    const bool last = suffix_is_attached_ && i + c.length == word.size();
    const std::int32_t id = c.valid ? (last ? final_characters_ : characters_).find(c.code_point) : -1;
    if (id >= 0)
      out.push_back({id, static_cast<std::uint32_t>(c.length)});
    else if (!add_bytes(word.substr(i, c.length), last, out))
      add_unknown(word, i, c.length, out);
    i += c.length;
  }
  if (end_of_word_ >= 0) out.push_back({end_of_word_, 0});
}

/// As in the `tokenizers` library, an unknown token is held back until the next character that has a piece or is
/// unknown too. Bytes are written without waiting for it.
void BpeModel::split_with_few_bytes(std::string_view word, std::vector<Symbol>& out) const {
  std::vector<Symbol> unknown;
  core::StopCheck check("encoding a text");
  for (std::size_t i = 0; i < word.size();) {
    check();
    const core::DecodedCharacter c = decode(word, i);
    const bool last = suffix_is_attached_ && i + c.length == word.size();
    const std::int32_t id = c.valid ? (last ? final_characters_ : characters_).find(c.code_point) : -1;
    if (id >= 0 || !add_bytes(word.substr(i, c.length), last, out)) {
      if (id >= 0 || !definition_->fuse_unknown) out.insert(out.end(), unknown.begin(), unknown.end());
      if (id >= 0 || !definition_->fuse_unknown) unknown.clear();
      if (id >= 0)
        out.push_back({id, static_cast<std::uint32_t>(c.length)});
      else
        add_unknown(word, i, c.length, unknown);
    }
    i += c.length;
  }
  out.insert(out.end(), unknown.begin(), unknown.end());
}

/// Writes the bytes of a character and, for the last one, of the suffix. Returns false if one of them has no piece, or
/// if there is no byte fallback.
bool BpeModel::add_bytes(std::string_view character, bool last, std::vector<Symbol>& out) const {
  if (!byte_fallback_) return false;
  const std::size_t before = out.size();
  const auto add = [&](std::string_view text, std::uint32_t length) {
    for (const char byte : text) out.push_back({bytes_[static_cast<unsigned char>(byte)], length});
  };
  add(character, 1);
  if (last) add(suffix_, 0);
  const bool complete =
      std::ranges::find(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(), -1, &Symbol::id) == out.end();
  if (!complete) out.resize(before);
  return complete;
}

void BpeModel::split_bytes(std::string_view word, std::vector<Symbol>& out) const {
  core::StopCheck check("encoding a text");
  for (std::size_t i = 0; i < word.size(); ++i) {
    check();
    const std::int32_t id = bytes_[static_cast<unsigned char>(word[i])];
    if (id >= 0)
      out.push_back({id, 1});
    else
      add_unknown(word, i, 1, out);
  }
}

void BpeModel::add_unknown(std::string_view word, std::size_t begin, std::size_t length,
                           std::vector<Symbol>& out) const {
  if (definition_->drops_unknown && !definition_->unknown) return;
  require(definition_->unknown.has_value(), ErrorCode::kBadInput,
          "{}{} is not in the vocabulary, which has neither byte fallback nor an unknown token; learn one with byte "
          "fallback",
          describe_character(word.substr(begin)),
          word.substr(begin).starts_with(kWordMark) ? ", which stands for a space," : "");
  const std::int32_t unknown = *definition_->unknown;
  if (definition_->fuse_unknown && !out.empty() && out.back().id == unknown)
    out.back().length += static_cast<std::uint32_t>(length);
  else
    out.push_back({unknown, static_cast<std::uint32_t>(length)});
}

}  // namespace dragoman::tokenizer

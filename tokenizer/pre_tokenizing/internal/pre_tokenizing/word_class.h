#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {

/// The classes of characters that the patterns of byte-level tokenizers distinguish: Unicode's categories L and N, and
/// its whitespace.
enum class WordClass : std::uint8_t { kOther, kLetter, kNumber, kSpace };

struct ClassifiedCharacter {
  WordClass kind;
  std::size_t length;  ///< in bytes
};

/// The classes of all characters. Bytes that are not UTF-8 are other characters.
class WordClasses {
 public:
  /// Returns the only object, which the first call fills in less than a millisecond.
  static const WordClasses& get();

  WordClass of(char32_t code_point) const noexcept {
    return code_point < kTable ? table_[code_point] : of_rare(code_point);
  }
  /// Classifies the character that starts at text[i]; i < text.size().
  ClassifiedCharacter at(std::string_view text, std::size_t i) const noexcept {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) return {table_[first], 1};
    // The most frequent cases of core::decode_utf8(): two bytes, and three bytes up to U+D7FF.
    std::uint32_t bytes;
    if (i + sizeof bytes <= text.size()) {
      std::memcpy(&bytes, text.data() + i, sizeof bytes);
      const std::uint32_t two = (bytes & 0x1F) << 6 | (bytes >> 8 & 0x3F);
      if ((bytes & 0xC0E0) == 0x80C0 && two >= 0x80) return {table_[two], 2};
      const std::uint32_t three = (bytes & 0xF) << 12 | (bytes >> 2 & 0xFC0) | (bytes >> 16 & 0x3F);
      if ((bytes & 0xC0C0F0) == 0x8080E0 && three >= 0x800 && three < 0xD800) return {table_[three], 3};
    }
    const core::DecodedCharacter c = core::decode_utf8(text, i);
    return {c.valid ? of(c.code_point) : WordClass::kOther, c.length};
  }

 private:
  static constexpr char32_t kTable = 0x10000;

  WordClasses();
  static WordClass of_rare(char32_t code_point) noexcept;

  std::array<WordClass, kTable> table_;
};

}  // namespace dragoman::tokenizer

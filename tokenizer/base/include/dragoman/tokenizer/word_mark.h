#pragma once

namespace dragoman::tokenizer {

/// U+2581, which represents a space inside pieces.
inline constexpr const char* kWordMark = "\xE2\x96\x81";
inline constexpr char32_t kWordMarkCharacter = 0x2581;

}  // namespace dragoman::tokenizer

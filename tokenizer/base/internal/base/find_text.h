#pragma once

#include <string_view>

#include <string.h>

namespace dragoman::tokenizer {

/// Returns what text.find(pattern, from) returns. It takes linear time for any pattern, which may come from a file; the
/// standard library compares the pattern anew at every place.
inline std::size_t find_text(std::string_view text, std::string_view pattern, std::size_t from = 0) noexcept {
  constexpr std::size_t kShort = 16;
  if (pattern.size() <= kShort || from > text.size()) return text.find(pattern, from);
  const void* found = ::memmem(text.data() + from, text.size() - from, pattern.data(), pattern.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

}  // namespace dragoman::tokenizer

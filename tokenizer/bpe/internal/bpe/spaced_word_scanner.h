#pragma once

#include "base/word_key.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <hwy/highway.h>

namespace dragoman::tokenizer {

/// Splits text at spaces. Finds, extracts and packs a short word together with its key in one vector.
class SpacedWordScanner {
 public:
  /// The first `readable` bytes from the beginning of the text may be read, even if they belong to other texts.
  SpacedWordScanner(std::string_view text, std::size_t readable) noexcept
      : at_(text.data()), end_(text.data() + text.size()), readable_(text.data() + readable), more_(!text.empty()) {}

  /// Returns whether a word follows. An empty word after the last space counts.
  bool more() const noexcept { return more_; }
  /// Returns the next word. Sets `key` to its key if it has at most WordKey::kInlineBytes bytes.
  std::string_view next(WordKey& key) noexcept {
    const char* begin = at_;
    std::size_t size = 0;
    if (static_cast<std::size_t>(readable_ - begin) >= kVector && (size = short_word(key)) < kVector) {
      advance(begin + size);
      return {begin, size};
    }
    const std::string_view rest(begin, static_cast<std::size_t>(end_ - begin));
    const std::string_view word = rest.substr(0, rest.find(' ', size));
    if (word.size() <= WordKey::kInlineBytes) key = WordKey::of(word);
    advance(begin + word.size());
    return word;
  }

 private:
  static constexpr std::size_t kVector = 16;

  void advance(const char* end) noexcept {
    more_ = end < end_;
    at_ = end + 1;
  }
  /// Returns the size of the next word and sets its key, or returns a size that does not fit into a vector.
  HWY_ATTR std::size_t short_word(WordKey& key) const noexcept {
    namespace hn = hwy::HWY_NAMESPACE;
    constexpr hn::FixedTag<std::uint8_t, kVector> kBytes{};
    const auto bytes = hn::LoadU(kBytes, reinterpret_cast<const std::uint8_t*>(at_));
    const std::intptr_t space = hn::FindFirstTrue(kBytes, hn::Eq(bytes, hn::Set(kBytes, ' ')));
    const auto left = static_cast<std::size_t>(end_ - at_);
    const std::size_t size = std::min(space < 0 ? kVector : static_cast<std::size_t>(space), left);
    if (size >= kVector) return kVector;
    const auto inside = hn::FirstN(kBytes, size);
    std::uint64_t units[2];
    hn::StoreU(hn::IfThenElseZero(inside, bytes), kBytes, reinterpret_cast<std::uint8_t*>(units));
    key = WordKey::packed(units[0], units[1], size);
    return size;
  }

  const char* at_;
  const char* end_;
  const char* readable_;
  bool more_;
};

}  // namespace dragoman::tokenizer

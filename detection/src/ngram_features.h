#pragma once

#include "words.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dragoman::detection {

/// The finaliser "lowbias32" of Christopher Wellons (public domain): each bit of the input changes each bit of the
/// result with a probability of about one half.
inline std::uint32_t mixed(std::uint32_t hash) {
  hash ^= hash >> 16;
  hash *= 0x7feb352dU;
  hash ^= hash >> 15;
  hash *= 0x846ca68bU;
  return hash ^ (hash >> 16);
}

/// Continues the hash of an n-gram by a letter.
inline std::uint32_t with_letter(std::uint32_t hash, char32_t letter) {
  return mixed(hash + static_cast<std::uint32_t>(letter) * 0x85ebca6bU + 1);
}

/// The longest n-grams. Chinese and Japanese, whose letters are thousands, have shorter ones and no borders of words.
inline constexpr std::size_t kMaxNgram = 4;
inline constexpr std::size_t kMaxHanNgram = 2;
/// Whole words up to this length are features, too.
inline constexpr std::size_t kMaxWholeWord = 12;

/// Calls `use` with the hash of each feature of a word: its n-grams with a space before and after it, and the word.
template <class Use>
void for_each_feature(const Word& word, Use&& use) {
  constexpr std::uint32_t kNgram = 0x9e3779b9U;
  constexpr std::uint32_t kWholeWord = 0x51ed270bU;
  const bool borders = word.writing != Writing::kHan;
  const std::size_t longest = borders ? kMaxNgram : kMaxHanNgram;
  const std::size_t end = word.letters.size() + (borders ? 2 : 0);
  const auto letter = [&](std::size_t i) {
    if (!borders) return word.letters[i];
    return i == 0 || i + 1 == end ? U' ' : word.letters[i - 1];
  };
  for (std::size_t first = 0; first < end; ++first) {
    std::uint32_t hash = kNgram;
    for (std::size_t i = first; i < std::min(first + longest, end); ++i) {
      hash = with_letter(hash, letter(i));
      if (i > first || letter(i) != U' ') use(hash);
    }
  }
  if (!borders || end <= longest || word.letters.size() > kMaxWholeWord) return;
  std::uint32_t hash = kWholeWord;
  for (const char32_t c : word.letters) hash = with_letter(hash, c);
  use(hash);
}

}  // namespace dragoman::detection

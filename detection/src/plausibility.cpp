#include "plausibility.h"

#include <algorithm>

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

namespace dragoman::detection {
namespace {

/// Returns 0 up to `low`, 1 from `high`, and the share of the way between them.
double rise(double value, double low, double high) {
  return std::clamp((value - low) / (high - low), 0.0, 1.0);
}

bool is_readable(UChar32 c) {
  if (c < 0 || c == 0xFFFD) return false;
  return (U_GET_GC_MASK(c) & (U_GC_CN_MASK | U_GC_CO_MASK | U_GC_CC_MASK)) == 0 || u_isspace(c) != 0;
}

/// Returns a letter without its accents.
char32_t base_of(char32_t letter) {
  if (letter < 0x80) return letter;
  UErrorCode status = U_ZERO_ERROR;
  static const icu::Normalizer2* nfd = icu::Normalizer2::getNFDInstance(status);
  icu::UnicodeString parts;
  if (nfd == nullptr || nfd->getDecomposition(static_cast<UChar32>(letter), parts) == 0) return letter;
  return static_cast<char32_t>(parts.char32At(0));
}

bool is_vowel(char32_t letter) {
  constexpr std::u32string_view kVowels = U"aeiouyæøœıəаеиоуыэюяієїөүұә";
  return kVowels.find(base_of(letter)) != std::u32string_view::npos;
}

}  // namespace

void Plausibility::add_text(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  for (std::size_t i = 0; i < text.size();) {
    UChar32 c = 0;
    U8_NEXT(bytes, i, text.size(), c);
    ++characters_;
    if (!is_readable(c)) ++unreadable_;
  }
}

void Plausibility::add_word(const Word& word) {
  if (word.writing != Writing::kLatin && word.writing != Writing::kCyrillic) return;
  for (const char32_t letter : word.letters) {
    if (u_isalpha(static_cast<UChar32>(letter)) == 0) continue;
    ++letters_;
    if (is_vowel(letter)) ++vowels_;
    if (letter == last_) ++repeated_;
    last_ = letter;
  }
}

double Plausibility::value() const {
  return std::max(kLeast, of_characters() * of_repetition() * of_vowels());
}

double Plausibility::of_characters() const {
  const double share = static_cast<double>(unreadable_) / static_cast<double>(std::max<std::size_t>(characters_, 1));
  return 1 - rise(share, 0.1, 0.3);
}

double Plausibility::of_repetition() const {
  // A sentence has about a hundred different n-grams. It may be repeated any number of times.
  constexpr std::size_t kSentence = 100;
  if (features_ == 0) return 1;
  return rise(static_cast<double>(seen_.count()) / static_cast<double>(std::min(features_, kSentence)), 0.25, 0.5);
}

double Plausibility::of_vowels() const {
  if (letters_ < kLeastLetters) return letters_ > 3 && repeated_ + 1 == letters_ ? 0 : 1;
  const double share = static_cast<double>(vowels_) / static_cast<double>(letters_);
  return rise(share, 0.23, 0.28) * (1 - rise(share, 0.75, 0.95));
}

}  // namespace dragoman::detection

#include "words.h"

#include <algorithm>
#include <utility>

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

namespace dragoman::detection {
namespace {

/// Scripts that one language with many writers is written in. Others that use them (Coptic letters aside, Ladino or
/// Tigrinya) are taken for it.
constexpr std::array<std::pair<UScriptCode, std::string_view>, 19> kScriptLanguages = {{
    {USCRIPT_GREEK, "el"},    {USCRIPT_ARMENIAN, "hy"}, {USCRIPT_GEORGIAN, "ka"}, {USCRIPT_THAI, "th"},
    {USCRIPT_LAO, "lo"},      {USCRIPT_KHMER, "km"},    {USCRIPT_MYANMAR, "my"},  {USCRIPT_HANGUL, "ko"},
    {USCRIPT_TAMIL, "ta"},    {USCRIPT_TELUGU, "te"},   {USCRIPT_KANNADA, "kn"},  {USCRIPT_MALAYALAM, "ml"},
    {USCRIPT_GUJARATI, "gu"}, {USCRIPT_GURMUKHI, "pa"}, {USCRIPT_ORIYA, "or"},    {USCRIPT_SINHALA, "si"},
    {USCRIPT_ETHIOPIC, "am"}, {USCRIPT_THAANA, "dv"},   {USCRIPT_TIBETAN, "bo"},
}};

Writing writing_of(UScriptCode script) {
  switch (script) {
    case USCRIPT_LATIN:
      return Writing::kLatin;
    case USCRIPT_CYRILLIC:
      return Writing::kCyrillic;
    case USCRIPT_ARABIC:
      return Writing::kArabic;
    case USCRIPT_DEVANAGARI:
      return Writing::kDevanagari;
    case USCRIPT_BENGALI:
      return Writing::kBengali;
    case USCRIPT_HEBREW:
      return Writing::kHebrew;
    case USCRIPT_HAN:
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
      return Writing::kHan;
    default:
      return Writing::kOther;
  }
}

std::string_view language_of(UScriptCode script) {
  for (const auto& [known, language] : kScriptLanguages)
    if (known == script) return language;
  return {};
}

bool is_letter(UChar32 c) {
  return u_isalpha(c) != 0 || (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0;
}

bool is_apostrophe(UChar32 c) {
  return c == '\'' || c == 0x2019 || c == 0x02BC;
}

/// Invisible characters inside words.
bool is_joiner(UChar32 c) {
  return c == 0x200C || c == 0x200D || c == 0x00AD;
}

/// Longer runs of letters are no words; what follows is a word of its own.
constexpr std::size_t kMaxLetters = 100;

}  // namespace

std::vector<std::string_view> languages_of_scripts() {
  std::vector<std::string_view> languages;
  for (const auto& [script, language] : kScriptLanguages) languages.push_back(language);
  return languages;
}

std::int32_t WordReader::read() {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text_.data());
  UChar32 c = 0;
  U8_NEXT(bytes, position_, text_.size(), c);
  return c;
}

std::size_t WordReader::end_of_address() const {
  std::size_t end = position_;
  while (end < text_.size() && text_[end] > ' ' && text_[end] < 0x7F) ++end;
  const std::string_view run = text_.substr(position_, end - position_);
  const bool address = run.starts_with("www.") || run.find("://") != std::string_view::npos ||
                       run.substr(std::min<std::size_t>(1, run.size())).find('@') != std::string_view::npos;
  return address ? end : position_;
}

bool WordReader::next(Word& word) {
  word.letters.clear();
  UScriptCode script = USCRIPT_INVALID_CODE;
  while (position_ < text_.size()) {
    if (std::exchange(at_start_, false)) {
      if (const std::size_t end = end_of_address(); end > position_) {
        position_ = end;
        if (!word.letters.empty()) break;
        continue;
      }
    }
    const std::size_t before = position_;
    const UChar32 c = read();
    at_start_ = c <= ' ' || c > 0x7E;  // end_of_address() reads ASCII only
    if (c >= 0 && is_letter(c)) {
      UErrorCode status = U_ZERO_ERROR;
      const UScriptCode its = uscript_getScript(c, &status);
      const bool of_any = its == USCRIPT_COMMON || its == USCRIPT_INHERITED;
      if (of_any && word.letters.empty()) continue;
      const Writing writing = of_any ? word.writing : writing_of(its);
      const bool same = of_any || (writing == word.writing && (writing != Writing::kOther || its == script));
      if (!word.letters.empty() && (!same || word.letters.size() == kMaxLetters)) {
        position_ = before;
        break;
      }
      if (word.letters.empty()) {
        script = its;
        word.writing = writing;
        word.language = writing == Writing::kOther ? language_of(its) : std::string_view{};
      }
      word.letters.push_back(static_cast<char32_t>(u_tolower(c)));
    } else if (c >= 0 && is_apostrophe(c) && !word.letters.empty()) {
      word.letters.push_back(U'\'');
    } else if (c < 0 || !is_joiner(c)) {
      if (!word.letters.empty()) break;
    }
  }
  while (!word.letters.empty() && word.letters.back() == U'\'') word.letters.pop_back();
  return !word.letters.empty();
}

std::string_view composed(std::string_view text, std::string& buffer) {
  // Combining marks of Latin, Cyrillic and Greek letters are U+0300 to U+036F: CC 80 to CD AF.
  if (text.find_first_of("\xCC\xCD") == std::string_view::npos) return text;
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  if (U_FAILURE(status)) return text;
  const auto wide = icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int>(text.size())));
  const icu::UnicodeString result = nfc->normalize(wide, status);
  if (U_FAILURE(status)) return text;
  buffer.clear();
  result.toUTF8String(buffer);
  return buffer;
}

}  // namespace dragoman::detection

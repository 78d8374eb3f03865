#include "words.h"

#include <memory>

#include <unicode/brkiter.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::markup {
namespace {

icu::BreakIterator& word_iterator() {
  thread_local const std::unique_ptr<icu::BreakIterator> iterator = [] {
    UErrorCode status = U_ZERO_ERROR;
    std::unique_ptr<icu::BreakIterator> made(icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), status));
    core::require(U_SUCCESS(status) != 0, core::ErrorCode::kUnsupported, "ICU has no rules for words: {}",
                  u_errorName(status));
    return made;
  }();
  return *iterator;
}

char32_t punctuation_of(std::string_view text) {
  const auto character = core::decode_utf8(text, 0).code_point;
  const auto code = static_cast<UChar32>(character);
  if (u_isalnum(code) != 0 || u_hasBinaryProperty(code, UCHAR_IDEOGRAPHIC) != 0) return 0;
  return u_hasBinaryProperty(code, UCHAR_QUOTATION_MARK) != 0 ? U'"' : character;
}

}  // namespace

void append_words(std::string_view text, std::uint32_t first, std::vector<Word>& words) {
  UErrorCode status = U_ZERO_ERROR;
  UText view = UTEXT_INITIALIZER;
  utext_openUTF8(&view, text.data(), static_cast<std::int64_t>(text.size()), &status);
  icu::BreakIterator& iterator = word_iterator();
  iterator.setText(&view, status);
  core::require(U_SUCCESS(status) != 0, core::ErrorCode::kInternal, "ICU cannot read a text of {} bytes: {}",
                text.size(), u_errorName(status));
  auto begin = static_cast<std::uint32_t>(iterator.first());
  for (std::int32_t next = iterator.next(); next != icu::BreakIterator::DONE; next = iterator.next()) {
    const auto end = static_cast<std::uint32_t>(next);
    const std::string_view word = text.substr(begin, end - begin);
    if (!core::is_blank(word)) words.push_back({first + begin, first + end, punctuation_of(word)});
    begin = end;
  }
  utext_close(&view);
}

}  // namespace dragoman::markup

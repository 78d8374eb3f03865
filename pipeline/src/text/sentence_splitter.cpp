#include "pipeline/sentence_splitter.h"

#include "abbreviations.h"

#include <unicode/brkiter.h>
#include <unicode/utext.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/white_space.h>

namespace dragoman::pipeline {

using core::ErrorCode;
using core::require;

struct SentenceSplitter::Impl {
  std::unique_ptr<icu::BreakIterator> iterator;
  std::unique_ptr<const Abbreviations> abbreviations;
};

SentenceSplitter::SentenceSplitter(const std::string& locale) : impl_(std::make_unique<Impl>()) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Locale icu_locale(locale.c_str());
  // For an unknown language, ICU would use the rules of no language. A known language has a code of three letters.
  require(!icu_locale.isBogus() && *icu_locale.getISO3Language() != 0, ErrorCode::kInvalidArgument,
          "{} is not a language that ICU knows; write its code of ISO 639, such as de, ja or en-GB: "
          "https://www.loc.gov/standards/iso639-2/php/code_list.php lists them",
          core::quote(locale));
  impl_->iterator.reset(icu::BreakIterator::createSentenceInstance(icu_locale, status));
  require(U_SUCCESS(status) != 0, ErrorCode::kUnsupported, "ICU has no sentence rules for the locale {}: {}",
          core::Quoted{locale}, u_errorName(status));
  impl_->abbreviations = std::make_unique<const Abbreviations>(icu_locale.getLanguage());
}

SentenceSplitter::~SentenceSplitter() = default;
SentenceSplitter::SentenceSplitter(SentenceSplitter&&) noexcept = default;
SentenceSplitter& SentenceSplitter::operator=(SentenceSplitter&&) noexcept = default;

std::vector<TextRange> SentenceSplitter::split(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  UText view = UTEXT_INITIALIZER;
  utext_openUTF8(&view, text.data(), static_cast<std::int64_t>(text.size()), &status);
  impl_->iterator->setText(&view, status);
  require(U_SUCCESS(status) != 0, ErrorCode::kInternal, "ICU cannot read a text of {} bytes: {}", text.size(),
          u_errorName(status));
  std::vector<TextRange> sentences;
  auto begin = static_cast<std::size_t>(impl_->iterator->first());
  for (std::int32_t next = impl_->iterator->next(); next != icu::BreakIterator::DONE; next = impl_->iterator->next()) {
    const auto end = static_cast<std::size_t>(next);
    const std::string_view sentence = text.substr(begin, end - begin);
    const std::size_t space = core::trailing_white_space(sentence);
    const bool ends_line = sentence.substr(sentence.size() - space).find('\n') != std::string_view::npos;
    if (!ends_line && impl_->abbreviations->continues(sentence.substr(0, sentence.size() - space), text.substr(end)))
      continue;
    begin += core::leading_white_space(sentence);
    if (begin < end) sentences.push_back({begin, end - space});
    begin = end;
  }
  utext_close(&view);
  return sentences;
}

}  // namespace dragoman::pipeline

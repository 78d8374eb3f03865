#include "unknown_replacement.h"

#include <memory>

#include <unicode/brkiter.h>
#include <unicode/utext.h>

#include <dragoman/core/error.h>
#include <dragoman/pipeline_api/record.h>

namespace dragoman::pipeline {
namespace {

using core::ErrorCode;
using core::require;

/// The words that a range of a text touches.
TextRange whole_words(const std::string& text, const TextRange& range) {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> words(
      icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), status));
  require(U_SUCCESS(status) != 0, ErrorCode::kUnsupported, "ICU has no rules for words: {}", u_errorName(status));
  UText view = UTEXT_INITIALIZER;
  utext_openUTF8(&view, text.data(), static_cast<std::int64_t>(text.size()), &status);
  words->setText(&view, status);
  require(U_SUCCESS(status) != 0, ErrorCode::kInternal, "ICU cannot read a text of {} bytes: {}", text.size(),
          u_errorName(status));
  const std::int32_t begin = words->preceding(static_cast<std::int32_t>(range.begin) + 1);
  const std::int32_t end = words->following(static_cast<std::int32_t>(range.end) - 1);
  utext_close(&view);
  return {begin == icu::BreakIterator::DONE ? 0 : static_cast<std::size_t>(begin),
          end == icu::BreakIterator::DONE ? text.size() : static_cast<std::size_t>(end)};
}

/// The word that a token of a text is of; empty of a token that stands for no text.
std::string word_of(const tokenizer::Tokenizer& tokenizer, std::span<const std::int32_t> tokens, std::size_t token) {
  const auto decoder = tokenizer.make_decoder();
  std::string text;
  TextRange range;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i == token) range.begin = text.size();
    decoder->decode(tokens[i], text);
    if (i == token) range.end = text.size();
  }
  decoder->finish(text);
  while (range.begin < range.end && text[range.begin] == ' ') ++range.begin;
  while (range.begin < range.end && text[range.end - 1] == ' ') --range.end;
  if (range.begin == range.end) return {};
  const TextRange words = whole_words(text, range);
  return text.substr(words.begin, words.end - words.begin);
}

void append_apart(std::string& text, const std::string& word) {
  if (word.empty()) return;
  if (!text.empty() && !text.ends_with(' ') && !word.starts_with(' ')) text.push_back(' ');
  text += word;
}

}  // namespace

std::string decode_replacing_unknown(const tokenizer::Tokenizer& target_tokenizer,
                                     const decoding::Hypothesis& hypothesis, std::int32_t unknown,
                                     const tokenizer::Tokenizer& source_tokenizer, std::span<const std::int32_t> source,
                                     const UnknownDictionary* dictionary) {
  const auto decoder = target_tokenizer.make_decoder();
  std::string text;
  bool any_decoded = false;
  for (std::size_t i = 0; i < hypothesis.tokens.size(); ++i) {
    const std::int32_t token = hypothesis.tokens[i];
    if (token == unknown) {
      const std::int32_t position = decoding::aligned_source(hypothesis, static_cast<std::int64_t>(i));
      const std::string word = word_of(source_tokenizer, source, static_cast<std::size_t>(position));
      append_apart(text, dictionary == nullptr ? word : std::string(dictionary->look_up(word)));
    } else if (any_decoded) {
      decoder->decode(token, text);
    } else {
      // The decoder takes what comes now for the beginning of the text, which has no blank before it.
      std::string first;
      decoder->decode(token, first);
      append_apart(text, first);
      any_decoded = !first.empty();
    }
  }
  decoder->finish(text);
  return text;
}

}  // namespace dragoman::pipeline

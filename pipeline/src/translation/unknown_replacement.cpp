#include "unknown_replacement.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>

#include <unicode/brkiter.h>
#include <unicode/utext.h>

#include <dragoman/core/error.h>
#include <dragoman/core/white_space.h>
#include <dragoman/pipeline_api/record.h>

namespace dragoman::pipeline {
namespace {

using core::ErrorCode;
using core::require;

/// Returns the words that a range of a text touches.
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
  const auto first = static_cast<std::int32_t>(range.begin);
  const auto last = static_cast<std::int32_t>(range.end);
  const std::int32_t begin = words->isBoundary(first) != 0 ? first : words->preceding(first);
  const std::int32_t end = words->isBoundary(last) != 0 ? last : words->following(last);
  utext_close(&view);
  return {begin == icu::BreakIterator::DONE ? 0 : static_cast<std::size_t>(begin),
          end == icu::BreakIterator::DONE ? text.size() : static_cast<std::size_t>(end)};
}

/// Returns the word of a token; empty for a token without text.
std::string word_of(const SourceText& source, std::size_t token) {
  if (token < source.tags) return {};
  std::string_view trimmed;
  // A piece without text, or with whitespace only, belongs to the next piece.
  for (token -= source.tags; trimmed.empty(); ++token) {
    if (token >= source.tokens.size()) return {};
    const TextRange& range = source.tokens[token];
    trimmed = core::trim_white_space(std::string_view(source.text).substr(range.begin, range.end - range.begin));
  }
  const auto begin = static_cast<std::size_t>(trimmed.data() - source.text.data());
  const TextRange words = whole_words(source.text, {begin, begin + trimmed.size()});
  return source.text.substr(words.begin, words.end - words.begin);
}

/// Returns the word that a token of the translation attends to most. Positions without text, such as tags and the
/// closing end, are excluded, as in fairseq.
std::string attended_word(const SourceText& source, const std::vector<float>& weights) {
  std::vector<std::size_t> positions(weights.size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  std::ranges::stable_sort(positions, std::greater<>(), [&](std::size_t position) { return weights[position]; });
  for (const std::size_t position : positions)
    if (std::string word = word_of(source, position); !word.empty()) return word;
  return {};
}

/// Returns the translation of a word in the dictionary, or the word itself.
std::string translated(const std::string& word, const tokenizer::Tokenizer& tokenizer,
                       const UnknownDictionary* dictionary) {
  if (dictionary == nullptr || word.empty()) return word;
  if (const std::string_view found = dictionary->look_up(word); found.data() != word.data()) return std::string(found);
  const std::string normalised = tokenizer.decode(tokenizer.encode(word));
  const std::string_view found = dictionary->look_up(normalised);
  return found.data() == normalised.data() ? word : std::string(found);
}

void append_apart(std::string& text, const std::string& word) {
  if (word.empty()) return;
  if (!text.empty() && !text.ends_with(' ') && !word.starts_with(' ')) text.push_back(' ');
  text += word;
}

}  // namespace

std::string decode_replacing_unknown(const tokenizer::Tokenizer& target_tokenizer,
                                     const decoding::Hypothesis& hypothesis, std::int32_t unknown,
                                     const tokenizer::Tokenizer& source_tokenizer, const SourceText& source,
                                     const UnknownDictionary* dictionary) {
  const auto decoder = target_tokenizer.make_decoder();
  std::string text;
  bool any_decoded = false;
  for (std::size_t i = 0; i < hypothesis.tokens.size(); ++i) {
    const std::int32_t token = hypothesis.tokens[i];
    if (token == unknown) {
      require(i < hypothesis.alignment.size(), ErrorCode::kInvalidArgument, "no alignment for token {}", i);
      const std::string word = attended_word(source, hypothesis.alignment[i]);
      append_apart(text, translated(word, source_tokenizer, dictionary));
    } else if (any_decoded) {
      decoder->decode(token, text);
    } else {
      // The decoder treats the next token as the beginning of the text, which has no space before it.
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

// A stop request ends the encoding of one long text.
#include "normalizing/normalizer.h"
#include "stop_during.h"
#include "test_names.h"
#include "tokenizer_test_support.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <unicode/normalizer2.h>
#include <unicode/unistr.h>

#include <dragoman/core/parallel.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/tokenizer/batch_encoding.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::testing {
namespace {

using namespace std::chrono_literals;
using tokenizer::EncodeOptions;
using tokenizer::EncodingMode;

const std::vector<std::string>& long_texts() {
  static const std::vector<std::string> texts = [] {
    std::string words;
    while (words.size() < 30'000'000) words += "Über die Straße läuft ein Hund, 12,5 m weit. ";
    std::string word;
    while (word.size() < 30'000'000) word += "abcdefghijklmnopqrstuvwxyzäöüß";
    return std::vector{words, word};
  }();
  return texts;
}

/// Calls `encode` with a text in a scope, for each text.
template <class Encode>
void expect_encoding_stops(const Encode& encode) {
  for (const std::string& text : long_texts()) {
    SCOPED_TRACE(text.substr(0, 10));
    for (const auto after : {50ms, 500ms})
      expect_stops(
          [&](const std::stop_token& stop) {
            const core::StopScope scope(stop);
            encode(text);
          },
          after);
  }
}

class StopTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer_ =
      tokenizer::load_tokenizer(source_folder() / "tests/tokenizer/golden" / GetParam());
};

TEST_P(StopTest, EndsEncoding) {
  expect_encoding_stops([&](const std::string& text) { tokenizer_->encode(text); });
  expect_encoding_stops([&](const std::string& text) { tokenizer_->encode_pieces(text); });
  expect_encoding_stops([&](const std::string& text) { tokenizer_->encode_as_text(text); });
  expect_encoding_stops([&](const std::string& text) {
    std::vector<std::int32_t> ids;
    tokenizer_->make_encoder()->encode(text, 0, ids);
  });
  expect_encoding_stops([&](const std::string& text) {
    core::SequentialExecutor executor;
    const std::vector<std::string_view> texts{text};
    tokenizer::encode_batch(*tokenizer_, texts, executor);
  });
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, StopTest,
                         ::testing::Values("default.tokenizer.json", "byte_level_plain.tokenizer.json",
                                           "learned_unigram_plain.model"),
                         dragoman::testing::kParameterName);

TEST(Stop, EndsSampledEncodings) {
  const auto bpe = tokenizer::load_tokenizer(source_folder() / "tests/tokenizer/golden/default.tokenizer.json");
  const auto unigram =
      tokenizer::load_tokenizer(source_folder() / "tests/tokenizer/golden/learned_unigram_plain.model");
  for (const EncodingMode mode : {EncodingMode::kDropout, EncodingMode::kGreedy})
    expect_encoding_stops([&](const std::string& text) { bpe->encode(text, {.mode = mode}); });
  expect_encoding_stops([&](const std::string& text) { unigram->encode(text, {.mode = EncodingMode::kSample}); });
  // Of the whole texts, the table of segmentations would take more memory than one text may.
  expect_encoding_stops(
      [&](const std::string& text) { unigram->encode_n_best(text.substr(0, text.find('a', 10'000'000)), 2); });
}

/// Long texts are normalised in parts. ICU normalises the whole as UTF-16 here.
TEST(Normalizer, PartsOfALongTextAreAsTheWhole) {
  using Kind = tokenizer::NormalizerStep::Kind;
  std::string text;
  // Sequences of several lengths, so that parts would end everywhere in them: combining marks in an order that is not
  // canonical, Hangul in letters, a ligature, letters that compose.
  const std::vector<std::string> sequences{
      "a\u0315\u0300\u05ae\u0062", "\u1112\u1161\u11ab", "\ufb01", "e\u0301", "\u00e9\u0323\u0301", "x",
      "\u0301\u0301\u0301"};
  for (std::size_t i = 0; text.size() < 1'500'000; ++i)
    text += sequences[i * i % sequences.size()] + (i % 5 == 0 ? " " : "");
  UErrorCode status = U_ZERO_ERROR;
  const std::pair<Kind, const icu::Normalizer2*> kForms[] = {{Kind::kNfc, icu::Normalizer2::getNFCInstance(status)},
                                                             {Kind::kNfd, icu::Normalizer2::getNFDInstance(status)},
                                                             {Kind::kNfkc, icu::Normalizer2::getNFKCInstance(status)},
                                                             {Kind::kNfkd, icu::Normalizer2::getNFKDInstance(status)}};
  for (const auto& [kind, form] : kForms) {
    std::string whole;
    form->normalize(icu::UnicodeString::fromUTF8(text), status).toUTF8String(whole);
    ASSERT_TRUE(U_SUCCESS(status));
    const tokenizer::Normalizer normalizer({{.kind = kind, .pattern = {}, .content = {}}});
    const tokenizer::AlignedText normal = normalizer.apply(text, 0, true);
    EXPECT_TRUE(normal.text == whole);
    ASSERT_EQ(normal.origin.size(), whole.size() + 1);
    EXPECT_TRUE(std::ranges::is_sorted(normal.origin));
    EXPECT_EQ(normal.origin.back(), text.size());
  }
}

}  // namespace
}  // namespace dragoman::testing

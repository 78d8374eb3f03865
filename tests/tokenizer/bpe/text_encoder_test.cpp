#include "tokenizer_test_support.h"

#include <algorithm>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {
namespace {

/// A tokenizer and what may be asked of it, by name.
struct Case {
  const char* name;
  Normalization normalization = Normalization::kNone;
  bool lowercase = false;
  bool word_marks = true;
  bool byte_fallback = true;
  std::vector<std::string> user_symbols = {};
  std::vector<std::string> special_tokens = {"<unk>", "<s>", "</s>"};
  bool escape_marks = true;
  bool split_punctuation = false;
  bool spaces_apart = false;
};

class TextEncoderOf : public ::testing::TestWithParam<Case> {
 protected:
  static BpeTokenizer tokenizer() {
    const Case& of = GetParam();
    LearnOptions options;
    options.vocab_size = 500;
    options.normalization = of.normalization;
    options.lowercase = of.lowercase;
    options.word_marks = of.word_marks;
    options.spaces_apart = of.spaces_apart;
    options.byte_fallback = of.byte_fallback;
    options.user_symbols = of.user_symbols;
    options.special_tokens = of.special_tokens;
    options.escape_marks = of.escape_marks;
    options.split_punctuation = of.split_punctuation;
    return testing::learn_from(core::read_file(testing::golden_file("corpus.txt")), options);
  }
};

/// Few different words, so that most are met again, among them marks, spaces in a row, characters that a compatibility
/// normalisation turns into spaces, broken UTF-8, special tokens, and long words.
std::string random_line(std::mt19937& random) {
  static const std::string parts[] = {" ",
                                      "  ",
                                      "the",
                                      "river",
                                      "e\u0301",
                                      "\u00C9",
                                      "\u2581",
                                      "\u2581a",
                                      "\u00A0",
                                      "\u3000b",
                                      "\uFB01",
                                      "</s>",
                                      "<ph>",
                                      "\xE2",
                                      "\xE2\x96",
                                      "\xFF",
                                      "\t",
                                      "\r",
                                      "A",
                                      "\u0130",
                                      "\u0308",
                                      "x",
                                      "ing",
                                      "\u1100",
                                      "\u1161",
                                      "Straße",
                                      "supercalifragilistic",
                                      " the ",
                                      " river ",
                                      " a ",
                                      " of ",
                                      " water ",
                                      " \u0301 b",
                                      " \u2581 ",
                                      " \uFF21",
                                      "\u241B",
                                      "the\u241B\u2423",
                                      "ri\u2581ver",
                                      "\u266A",
                                      "(the",
                                      "ing.",
                                      "12x"};
  std::string line;
  for (std::size_t n = random() % 60; n > 0; --n) line += parts[random() % std::size(parts)];
  if (random() % 50 == 0) line += std::string(300 + random() % 300, 'y');
  return line;
}

TEST_P(TextEncoderOf, GivesTheIdsOfEncode) {
  const BpeTokenizer tokenizer = TextEncoderOf::tokenizer();
  for (const EncodeOptions& options :
       {EncodeOptions{.mode = EncodingMode::kExact}, EncodeOptions{.mode = EncodingMode::kGreedy},
        EncodeOptions{.mode = EncodingMode::kExact, .match_special_tokens = true},
        EncodeOptions{.mode = EncodingMode::kDropout, .dropout = 0.3, .seed = 5}}) {
    const auto encoder = tokenizer.make_encoder(options);
    std::mt19937 random(17);
    for (std::uint64_t line = 0; line < 5000; ++line) {
      const std::string text = random_line(random);
      std::vector<std::int32_t> ids = {-7};
      encoder->encode(text, line, ids);
      EncodeOptions of_line = options;
      of_line.line = line;
      std::vector<std::int32_t> expected = tokenizer.encode(text, of_line);
      expected.insert(expected.begin(), -7);  // ids are appended to what is there
      ASSERT_EQ(ids, expected) << ::testing::PrintToString(text);
    }
  }
}

/// Lines of one buffer, whose ends the encoder may read over, and texts that lie anywhere; many, so that words of
/// several texts are looked up and merged together.
TEST_P(TextEncoderOf, EncodesManyTextsAsOneByOne) {
  const BpeTokenizer tokenizer = TextEncoderOf::tokenizer();
  for (const EncodeOptions& options :
       {EncodeOptions{.mode = EncodingMode::kExact}, EncodeOptions{.mode = EncodingMode::kGreedy},
        EncodeOptions{.mode = EncodingMode::kDropout, .dropout = 0.3, .seed = 5}}) {
    const auto encoder = tokenizer.make_encoder(options);
    std::mt19937 random(19);
    std::uint64_t first_line = 0;
    for (const std::size_t count : {0U, 1U, 2U, 100U, 1000U}) {
      std::vector<std::string> lines(count);
      std::string buffer;
      for (std::string& line : lines) buffer += (line = random_line(random)) + "\n";
      std::vector<std::string_view> in_buffer;
      for (const std::string& line : lines) {
        const std::size_t begin =
            in_buffer.empty() ? 0 : in_buffer.back().data() - buffer.data() + in_buffer.back().size() + 1;
        in_buffer.push_back(std::string_view(buffer).substr(begin, line.size()));
      }
      for (const auto& texts : {in_buffer, std::vector<std::string_view>(lines.begin(), lines.end())}) {
        EncodedTexts encoded;
        encoder->encode_all(texts, first_line, encoded);
        ASSERT_EQ(encoded.size(), texts.size());
        for (std::size_t i = 0; i < texts.size(); ++i) {
          EncodeOptions of_line = options;
          of_line.line = first_line + i;
          const auto ids = encoded[i];
          ASSERT_EQ(std::vector(ids.begin(), ids.end()), tokenizer.encode(texts[i], of_line))
              << ::testing::PrintToString(texts[i]);
        }
      }
      first_line += count;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, TextEncoderOf,
    ::testing::Values(Case{.name = "Plain"}, Case{.name = "Nfc", .normalization = Normalization::kNfc},
                      Case{.name = "Nfkc", .normalization = Normalization::kNfkc},
                      Case{.name = "LowerNfkc", .normalization = Normalization::kNfkc, .lowercase = true},
                      Case{.name = "NoBytes", .byte_fallback = false}, Case{.name = "WholeLines", .word_marks = false},
                      Case{.name = "SpacesApart", .word_marks = false, .spaces_apart = true},
                      Case{.name = "UserSymbols", .user_symbols = {"<ph>", "the"}},
                      Case{.name = "NoEscape", .escape_marks = false},
                      Case{.name = "OneCharacterToken", .special_tokens = {"<unk>", "\u266A"}},
                      Case{.name = "Punctuation", .split_punctuation = true},
                      Case{
                          .name = "PunctuationNfkc", .normalization = Normalization::kNfkc, .split_punctuation = true}),
    [](const auto& test) { return std::string(test.param.name); });

/// A vocabulary without the mark can encode nothing but empty texts, and making its encoder is no error.
TEST(TextEncoder, AMarkThatCannotBeSpelledIsAnErrorOfTheTextThatNeedsIt) {
  BpeDefinition definition;
  definition.pieces = {"a", "b", "ab"};
  definition.merges = {{0, 1, 2}};
  definition.text = CharacterText{
      .normalizer = {{NormalizerStep::Kind::kPrepend, {}, kWordMark}, {NormalizerStep::Kind::kReplace, " ", kWordMark}},
      .pre_tokenizer = SplitBefore{.mark = kWordMark}};
  const BpeTokenizer tokenizer(definition);
  const auto encoder = tokenizer.make_encoder();
  std::vector<std::int32_t> ids;
  encoder->encode("", 0, ids);
  EXPECT_TRUE(ids.empty());
  for (const char* text : {" ", "ab", "ab  b"}) {
    EXPECT_THROW(tokenizer.encode(text), core::Error) << text;
    EXPECT_THROW(encoder->encode(text, 0, ids), core::Error) << text;
  }
  encoder->encode("", 1, ids);
  EXPECT_TRUE(ids.empty());
}

class TextEncoderOfFile : public ::testing::TestWithParam<const char*> {};

TEST_P(TextEncoderOfFile, GivesTheIdsOfEncode) {
  const auto tokenizer = load_tokenizer(testing::golden_file(GetParam()));
  const auto encoder = tokenizer->make_encoder();
  std::mt19937 random(18);
  for (std::uint64_t line = 0; line < 3000; ++line) {
    const std::string text = random_line(random);
    std::vector<std::int32_t> ids;
    encoder->encode(text, line, ids);
    ASSERT_EQ(ids, tokenizer->encode(text)) << ::testing::PrintToString(text);
  }
}

/// The texts are adjacent, as the lines of a file, so that an encoder may read beyond the end of one.
TEST_P(TextEncoderOfFile, EncodesManyTextsAsOneByOne) {
  const auto tokenizer = load_tokenizer(testing::golden_file(GetParam()));
  const auto encoder = tokenizer->make_encoder();
  std::mt19937 random(19);
  std::string file;
  std::vector<std::size_t> begins;
  for (std::size_t line = 0; line < 3000; ++line) {
    begins.push_back(file.size());
    file += random_line(random) + '\n';
  }
  begins.push_back(file.size());
  std::vector<std::string_view> texts;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i)
    texts.push_back(std::string_view(file).substr(begins[i], begins[i + 1] - begins[i] - 1));
  EncodedTexts encoded;
  encoder->encode_all(texts, 0, encoded);
  ASSERT_EQ(encoded.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto ids = encoded[i];
    ASSERT_EQ(std::vector<std::int32_t>(ids.begin(), ids.end()), tokenizer->encode(texts[i]))
        << ::testing::PrintToString(texts[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TextEncoderOfFile,
                         ::testing::Values("byte_level_plain.tokenizer.json",
                                           "byte_level_cl100k_variant.tokenizer.json",
                                           "byte_level_prefix.tokenizer.json", "subword_nmt.codes02",
                                           "subword_nmt.codes01", "sentencepiece_plain.model",
                                           "sentencepiece_bytes.model", "nfkc.tokenizer.json", "ranks.tiktoken"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace dragoman::tokenizer

#include "tokenizer_test_support.h"

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/byte_pieces.h>
#include <dragoman/tokenizer/learn_bpe.h>

namespace dragoman::tokenizer {
namespace {

std::string own_text() {
  return core::read_file(testing::golden_file("corpus.txt"));
}

LearnOptions lossless_options() {
  LearnOptions options;
  options.vocab_size = 500;
  return options;
}

/// Bytes of all kinds, with spaces, halves of characters and user symbols more often than chance has them.
std::string random_bytes(std::mt19937& random) {
  static const std::string parts[] = {
      " ", "  ", "a", "the", "é", "\xE2", "\xE2\x96", "\xF0\x9F\x98\x80", "<ph>", "ph>", "<p", "@", "\t", "\r",
      std::string(1, '\0'),
      // The mark, the character that escapes begin with, what may stand behind it, and the first two bytes of both.
      "\u2581", "\u241B", "\u2423", "\u241A", "\u2400", "\xE2\x90", "\x9B", "\u266A"};
  std::string text;
  for (std::size_t n = random() % 12; n > 0; --n)
    text += random() % 3 == 0 ? std::string(1, static_cast<char>(random() % 256)) : parts[random() % std::size(parts)];
  return text;
}

const EncodeOptions kModes[] = {{.mode = EncodingMode::kExact},
                                {.mode = EncodingMode::kGreedy},
                                {.mode = EncodingMode::kDropout, .dropout = 0.3, .seed = 3}};

void expect_lossless(const BpeTokenizer& tokenizer) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = random_bytes(random);
    for (const EncodeOptions& options : kModes) {
      const auto ids = tokenizer.encode(text, options);
      ASSERT_EQ(tokenizer.decode(ids), text) << ::testing::PrintToString(text);
    }
  }
}

TEST(Lossless, AnyBytesComeBack) {
  expect_lossless(testing::learn_from(own_text(), lossless_options()));
}

TEST(Lossless, AnyBytesComeBackAroundUserSymbols) {
  LearnOptions options = lossless_options();
  options.user_symbols = {"<ph>", "@", "@@", "a@", "ph>a"};
  expect_lossless(testing::learn_from(own_text(), options));
}

TEST(Lossless, AnyBytesComeBackWithoutWordMarks) {
  LearnOptions options = lossless_options();
  options.word_marks = false;
  expect_lossless(testing::learn_from(own_text(), options));
}

TEST(Lossless, AnyBytesComeBackWhereSpacesAreApart) {
  LearnOptions options = lossless_options();
  options.word_marks = false;
  options.spaces_apart = true;
  expect_lossless(testing::learn_from(own_text(), options));
  options.user_symbols = {"<ph>", "@", "@@", "a@", "ph>a"};
  options.special_tokens = {"<unk>", "\u266A"};
  options.split_punctuation = true;
  options.protected_patterns = {"a b", "t.e"};
  expect_lossless(testing::learn_from(own_text(), options));
}

TEST(Lossless, AnyBytesComeBackWhereSpecialTokensAreSingleCharacters) {
  LearnOptions options = lossless_options();
  options.special_tokens = {"<unk>", "\u266A", "a", "@", "\t"};
  options.user_symbols = {"<ph>", "\u2423", "a@"};
  expect_lossless(testing::learn_from(own_text(), options));
  options.word_marks = false;
  options.escape_marks = false;
  expect_lossless(testing::learn_from(own_text(), options));
}

TEST(Lossless, AnyBytesComeBackFromWordsCutAtPunctuation) {
  LearnOptions options = lossless_options();
  options.split_punctuation = true;
  options.split_digits = true;
  options.user_symbols = {"<ph>", "@"};
  expect_lossless(testing::learn_from(own_text(), options));
}

TEST(Lossless, TheWordMarkItselfComesBackUnlessItIsNotEscaped) {
  LearnOptions options = lossless_options();
  const BpeTokenizer tokenizer = testing::learn_from(own_text(), options);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\u2581b \u241B\u2423")), "a\u2581b \u241B\u2423");
  options.escape_marks = false;
  const BpeTokenizer plain = testing::learn_from(own_text(), options);
  EXPECT_EQ(plain.decode(plain.encode("a\u2581b")), "a b");
}

TEST(Lossless, NormalisedTextComesBack) {
  LearnOptions options = lossless_options();
  options.normalization = Normalization::kNfc;
  const BpeTokenizer tokenizer = testing::learn_from(own_text(), options);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("cafe\u0301  cafe\u0301 \xFF")), "café  café \xFF");
}

void expect_offsets_cover(const BpeTokenizer& tokenizer, const std::string& text, const EncodeOptions& options) {
  const std::vector<Piece> pieces = tokenizer.encode_pieces(text, options);
  std::vector<std::int32_t> ids;
  std::size_t at = 0;
  for (const Piece& piece : pieces) {
    ids.push_back(piece.id);
    ASSERT_EQ(piece.begin, at) << ::testing::PrintToString(text);
    ASSERT_GE(piece.end, piece.begin);
    at = piece.end;
  }
  ASSERT_EQ(at, text.size()) << ::testing::PrintToString(text);
  ASSERT_EQ(ids, tokenizer.encode(text, options));
}

TEST(Offsets, CoverTheTextInOrderWhateverTheNormalisation) {
  for (const Normalization form : {Normalization::kNone, Normalization::kNfc, Normalization::kNfkc}) {
    LearnOptions options = lossless_options();
    options.normalization = form;
    options.lowercase = form != Normalization::kNone;
    options.user_symbols = {"<ph>", "@"};
    const BpeTokenizer tokenizer = testing::learn_from(own_text(), options);
    std::mt19937 random(2);
    for (int i = 0; i < 5'000; ++i) {
      const std::string text =
          random_bytes(random) + (i % 3 == 0 ? "e\u0301\uFB01\u0130 \uFDFA" : "") + random_bytes(random);
      for (const EncodeOptions& mode : kModes) expect_offsets_cover(tokenizer, text, mode);
    }
  }
}

TEST(Offsets, PointAtTheTextOfEachPiece) {
  const BpeTokenizer tokenizer = testing::learn_from(own_text(), lossless_options());
  const std::string text = "the river  people, der Fluss \U0001F600";
  for (const Piece& piece : tokenizer.encode_pieces(text)) {
    std::string expected(tokenizer.piece(piece.id));
    if (byte_of_piece(expected)) expected = std::string(1, static_cast<char>(*byte_of_piece(expected)));
    if (expected.starts_with(kWordMark)) expected.replace(0, 3, piece.begin == 0 ? "" : " ");
    EXPECT_EQ(text.substr(piece.begin, piece.end - piece.begin), expected);
  }
}

TEST(Offsets, FollowNormalisationBackToTheOriginal) {
  LearnOptions options = lossless_options();
  options.normalization = Normalization::kNfkc;
  options.lowercase = true;
  options.vocab_size = 260 + 200;
  const BpeTokenizer tokenizer = testing::learn_from(own_text(), options);
  const std::string text = "THE \uFB01RST";  // the ligature is one character of three bytes, two letters after NFKC
  std::string begin_of_word;
  for (const Piece& piece : tokenizer.encode_pieces(text))
    if (tokenizer.piece(piece.id).starts_with(kWordMark)) begin_of_word += std::to_string(piece.begin) + " ";
  EXPECT_EQ(begin_of_word, "0 3 ");
}

}  // namespace
}  // namespace dragoman::tokenizer

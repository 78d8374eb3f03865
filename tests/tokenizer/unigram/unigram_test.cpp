#include "formats_test_support.h"
#include "sentencepiece/sentencepiece_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/options.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Type = UnigramPiece::Type;

UnigramDefinition small_definition() {
  return {.pieces = {{"<unk>", 0, Type::kUnknown},
                     {"<s>", 0, Type::kControl},
                     {"a", -1, Type::kNormal},
                     {"b", -2, Type::kNormal},
                     {"ab", -2.5, Type::kNormal},
                     {"aa", -9, Type::kNormal},
                     {"bb", -1, Type::kUnused},
                     {"aab", -50, Type::kUserDefined},
                     {"\xE2\x96\x81", -1.5, Type::kNormal}}};
}

TEST(Unigram, TakesTheGreatestSumOfScores) {
  const UnigramTokenizer tokenizer(small_definition());
  EXPECT_THAT(testing::pieces_of(tokenizer, "abba"), ElementsAre("\xE2\x96\x81", "ab", "b", "a"));
  EXPECT_THAT(testing::pieces_of(tokenizer, "aaaab"), ElementsAre("\xE2\x96\x81", "a", "a", "aab"));
  EXPECT_THAT(testing::pieces_of(tokenizer, "xx axy"),
              ElementsAre("\xE2\x96\x81", "<unk>", "\xE2\x96\x81", "a", "<unk>"));
  EXPECT_THAT(tokenizer.encode(""), IsEmpty());
  EXPECT_THAT(tokenizer.encode("   "), IsEmpty());
}

TEST(Unigram, EncoderAndPiecesAgreeAboutBytesThatAreNotText) {
  const UnigramTokenizer tokenizer(small_definition());
  EXPECT_EQ(tokenizer.encode_pieces("a\xFF\xFE"
                                    "b"),
            (std::vector<Piece>{{8, 0, 0}, {2, 0, 1}, {0, 1, 3}, {3, 3, 4}}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\xFF\xFE"
                                              "b")),
            "a \xE2\x81\x87 b");
}

TEST(Unigram, SpecialPiecesAreMatchedOnRequest) {
  const UnigramTokenizer tokenizer(small_definition());
  EXPECT_TRUE(tokenizer.is_special(0));
  EXPECT_TRUE(tokenizer.is_special(1));
  EXPECT_FALSE(tokenizer.is_special(7));
  EXPECT_THAT(tokenizer.encode("<s>a", {.match_special_tokens = true}), ElementsAre(1, 8, 2));
  EXPECT_EQ(tokenizer.encode_pieces("a<s> b", {.match_special_tokens = true}),
            (std::vector<Piece>{{8, 0, 0}, {2, 0, 1}, {1, 1, 4}, {8, 5, 5}, {3, 5, 6}}));
  EXPECT_EQ(tokenizer.decode(std::vector<std::int32_t>{1, 8, 2, 1}), "a");
}

TEST(Unigram, OtherModesAreRefused) {
  const UnigramTokenizer tokenizer(small_definition());
  for (const EncodingMode mode : {EncodingMode::kGreedy, EncodingMode::kDropout}) {
    EXPECT_THAT(testing::error_of([&] { tokenizer.encode("a", {.mode = mode}); }), HasSubstr("no merges"));
    EXPECT_THAT(testing::error_of([&] { tokenizer.encode_pieces("a", {.mode = mode}); }), HasSubstr("no merges"));
    EXPECT_THAT(testing::error_of([&] { tokenizer.make_encoder({.mode = mode}); }), HasSubstr("no merges"));
  }
}

TEST(Unigram, RefusesContradictions) {
  const auto error = [](auto change) {
    UnigramDefinition definition = small_definition();
    change(definition);
    return testing::error_of([&] { UnigramTokenizer(definition, "model"); });
  };
  EXPECT_EQ(error([](auto&) {}), "no error");
  EXPECT_THAT(error([](auto& d) { d.pieces[2].text = ""; }), HasSubstr("model: piece 2 is empty"));
  EXPECT_THAT(error([](auto& d) { d.pieces[2].text = "\xFF"; }), HasSubstr("piece 2 is not valid UTF-8"));
  EXPECT_THAT(error([](auto& d) { d.pieces[2].text = std::string("a\0b", 3); }), HasSubstr("U+0000"));
  EXPECT_THAT(error([](auto& d) { d.pieces[3].text = "a"; }), HasSubstr("two pieces, 2 and 3"));
  EXPECT_THAT(error([](auto& d) { d.pieces[1].type = Type::kUnknown; }), HasSubstr("second unknown"));
  EXPECT_THAT(error([](auto& d) { d.pieces[0].type = Type::kControl; }), HasSubstr("no unknown"));
  EXPECT_THAT(error([](auto& d) { d.pieces.resize(2); }), HasSubstr("made from text"));
  EXPECT_THAT(error([](auto& d) { d.byte_fallback = true; }), HasSubstr("<0x00>"));
  EXPECT_THAT(error([](auto& d) { d.character_map = "map"; }), HasSubstr("model: a character map of 3 bytes"));
  EXPECT_THAT(error([](auto& d) { d.unknown_surface = "\xC0"; }), HasSubstr("unknown piece decodes"));
  const UnigramTokenizer tokenizer(small_definition());
  EXPECT_THAT(testing::error_of([&] { tokenizer.decode(std::vector<std::int32_t>{9}); }), HasSubstr("0 to 8"));
}

TEST(Unigram, HasNoMergesToConvert) {
  const auto path = testing::golden_file("sentencepiece_unigram_plain.model");
  EXPECT_THAT(testing::error_of([&] { read_tokenizer_file(path); }), HasSubstr("has no merges"));
}

}  // namespace
}  // namespace dragoman::tokenizer

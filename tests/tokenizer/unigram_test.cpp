#include "formats/sentencepiece.h"
#include "formats_test_support.h"

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

/// The section of golden/unigram.json, which golden/make_unigram_golden.py wrote, and the name of its model.
class SentencePieceGolden : public ::testing::TestWithParam<const char*> {
 protected:
  static std::filesystem::path path() {
    return testing::golden_file("sentencepiece_" + std::string(GetParam()) + ".model");
  }
  static core::Json rows() { return core::load_json(testing::golden_file("unigram.json").string())[GetParam()]; }
  static bool is_unigram() { return std::string_view(GetParam()).starts_with("unigram"); }
  const std::unique_ptr<Tokenizer> tokenizer_ = load_tokenizer(path());
};

TEST_P(SentencePieceGolden, SameIdsAsTheLibrary) {
  const core::Json golden = rows();
  ASSERT_GE(golden.size(), 150U);
  const auto encoder = tokenizer_->make_encoder();
  for (const core::Json& row : golden) {
    const auto text = row["text"].get<std::string>();
    const auto ids = row["ids"].get<std::vector<std::int32_t>>();
    EXPECT_EQ(tokenizer_->encode(text), ids) << row["text"];
    std::vector<std::int32_t> again;
    encoder->encode(text, 0, again);
    EXPECT_EQ(again, ids) << row["text"];
  }
}

/// With merges, the steps of normalisation have a convention of their own for what a space that vanishes belongs to.
TEST_P(SentencePieceGolden, SameRangesAsTheLibrary) {
  for (const core::Json& row : rows()) {
    std::vector<std::int32_t> ids;
    std::vector<std::vector<std::size_t>> ranges;
    std::size_t end = 0;
    for (const Piece& piece : tokenizer_->encode_pieces(row["text"].get<std::string>())) {
      EXPECT_LE(end, piece.begin);
      end = piece.end;
      ids.push_back(piece.id);
      ranges.push_back({piece.begin, piece.end});
    }
    EXPECT_EQ(ids, row["ids"].get<std::vector<std::int32_t>>()) << row["text"];
    if (is_unigram()) {
      EXPECT_EQ(ranges, row["ranges"].get<std::vector<std::vector<std::size_t>>>()) << row["text"];
    }
  }
}

/// With merges, the unknown piece decodes to nothing, as in all files of merges.
TEST_P(SentencePieceGolden, SameDecodedTextAsTheLibrary) {
  int compared = 0;
  for (const core::Json& row : rows()) {
    const auto ids = row["ids"].get<std::vector<std::int32_t>>();
    if (!is_unigram() && std::ranges::find(ids, 0) != ids.end()) continue;
    EXPECT_EQ(tokenizer_->decode(ids), row["decoded"].get<std::string>()) << row["text"];
    ++compared;
  }
  EXPECT_GT(compared, 50);
}

INSTANTIATE_TEST_SUITE_P(Models, SentencePieceGolden,
                         ::testing::Values("unigram_plain", "unigram_bytes", "unigram_no_prefix", "unigram_suffix",
                                           "unigram_symbols", "unigram_map", "unigram_scores", "bpe_map",
                                           "bpe_map_keeps_spaces", "bpe_map_no_prefix"));

TEST(SentencePieceMap, AModelWithAMapIsWrittenAgainWithItsMap) {
  const testing::TemporaryFolder folder;
  for (const std::string name : {"bpe_map", "bpe_map_keeps_spaces", "bpe_map_no_prefix"}) {
    const BpeDefinition read = read_tokenizer_file(testing::golden_file("sentencepiece_" + name + ".model"));
    write_tokenizer_file(read, FileKind::kSentencePiece, folder / "m.model");
    const BpeDefinition again = read_tokenizer_file(folder / "m.model");
    EXPECT_EQ(again.normalizer, read.normalizer);
    EXPECT_EQ(again.pieces, read.pieces);
    EXPECT_EQ(again.merges, read.merges);
    EXPECT_THAT(testing::error_of([&] { write_tokenizer_file(read, FileKind::kTokenizerJson, folder / "t.json"); }),
                HasSubstr("character map"));
  }
}

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

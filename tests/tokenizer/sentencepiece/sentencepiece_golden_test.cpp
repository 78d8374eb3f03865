#include "formats_test_support.h"
#include "sentencepiece/sentencepiece_files.h"
#include "sentencepiece/sentencepiece_model.h"
#include "test_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::HasSubstr;
using Model = SentencePieceModel;

/// A section of golden/unigram.json or golden/sentencepiece_bpe.json, which make_unigram_golden.py and
/// make_sentencepiece_bpe_golden.py wrote, and the name of its model.
class SentencePieceGolden : public ::testing::TestWithParam<const char*> {
 protected:
  static core::Json rows() {
    for (const char* file : {"unigram.json", "sentencepiece_bpe.json"}) {
      const core::Json sections = core::load_json(testing::golden_file(file).string());
      if (sections.contains(GetParam())) return sections[GetParam()];
    }
    return {};
  }
  bool is_unigram() const { return dynamic_cast<const UnigramTokenizer*>(tokenizer_.get()) != nullptr; }
  /// Whether steps normalise, which have a convention of their own for what a space that vanishes belongs to.
  bool has_steps() const {
    const auto* bpe = dynamic_cast<const BpeTokenizer*>(tokenizer_.get());
    return bpe != nullptr && std::holds_alternative<CharacterText>(bpe->definition().text);
  }
  const std::unique_ptr<Tokenizer> tokenizer_ = load_tokenizer(testing::sentencepiece_model(GetParam()));
};

TEST_P(SentencePieceGolden, SameIdsAsTheLibrary) {
  const core::Json golden = rows();
  ASSERT_GE(golden.size(), 100U);
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
    if (!has_steps()) {
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
  EXPECT_GT(compared, 40);
}

using SentencePieceBpeGolden = SentencePieceGolden;

TEST_P(SentencePieceBpeGolden, WrittenAgainItIsTheSameTokenizer) {
  const testing::TemporaryFolder folder;
  write_tokenizer_file(read_tokenizer_file(testing::sentencepiece_model(GetParam())), FileKind::kSentencePiece,
                       folder / "m.model");
  const auto again = load_tokenizer(folder / "m.model");
  for (const core::Json& row : rows()) {
    const auto ids = row["ids"].get<std::vector<std::int32_t>>();
    EXPECT_EQ(again->encode(row["text"].get<std::string>()), ids) << row["text"];
    EXPECT_EQ(again->decode(ids), tokenizer_->decode(ids)) << row["text"];
  }
}

INSTANTIATE_TEST_SUITE_P(Unigram, SentencePieceGolden,
                         ::testing::Values("unigram_plain", "unigram_bytes", "unigram_no_prefix", "unigram_suffix",
                                           "unigram_symbols", "unigram_map", "unigram_scores"),
                         dragoman::testing::kParameterName);

const auto kBpeModels = ::testing::Values(
    "bpe_map", "bpe_map_keeps_spaces", "bpe_map_no_prefix", "bpe_symbols", "bpe_symbols_bytes", "bpe_symbols_map",
    "bpe_symbols_map_keeps_spaces", "bpe_symbols_apart", "bpe_wide_map", "bpe_wide_map_keeps_spaces", "bpe_suffix",
    "bpe_suffix_keeps_spaces", "bpe_unescaped", "bpe_unused", "bpe_unused_bytes", "bpe_odd_types");
INSTANTIATE_TEST_SUITE_P(Bpe, SentencePieceGolden, kBpeModels, dragoman::testing::kParameterName);
INSTANTIATE_TEST_SUITE_P(Bpe, SentencePieceBpeGolden, kBpeModels, dragoman::testing::kParameterName);

std::string error_of_conversion(const std::string& name) {
  const testing::TemporaryFolder folder;
  return testing::error_of([&] {
    std::visit([&](const auto& d) { write_tokenizer_file(d, FileKind::kTokenizerJson, folder / "t.json"); },
               read_any_tokenizer_file(testing::sentencepiece_model(name)));
  });
}

TEST(SentencePieceConversion, WhatTokenizerJsonCannotSayIsRefusedWithTheReason) {
  EXPECT_THAT(error_of_conversion("bpe_symbols_map"), HasSubstr("user-defined symbols behind which words go on"));
  EXPECT_THAT(error_of_conversion("bpe_symbols"), HasSubstr("user-defined symbols behind which words go on"));
  EXPECT_THAT(error_of_conversion("bpe_suffix"), HasSubstr("marks the ends of words"));
  EXPECT_THAT(error_of_conversion("bpe_unescaped"), HasSubstr("pieces with spaces"));
  EXPECT_THAT(error_of_conversion("bpe_unused"), HasSubstr("unused pieces"));
  EXPECT_THAT(error_of_conversion("unigram_suffix"), HasSubstr("marks the ends of words"));
}

/// golden/check_conversions.py lets the library read such a file.
TEST(SentencePieceConversion, SymbolsThatStandApartBecomeAddedTokens) {
  const testing::TemporaryFolder folder;
  const BpeDefinition read = read_tokenizer_file(testing::sentencepiece_model("bpe_symbols_apart"));
  write_tokenizer_file(read, FileKind::kTokenizerJson, folder / "t.json");
  const BpeTokenizer again = BpeTokenizer::load(folder / "t.json");
  EXPECT_EQ(again.definition().added_tokens, read.added_tokens);
  EXPECT_EQ(again.encode("a<sep>river e\xCC\x81 th"), BpeTokenizer(read).encode("a<sep>river e\xCC\x81 th"));
}

/// `text` with the added piece, which is of a type that no text becomes.
std::string error_of_piece(std::string text, std::uint64_t type) {
  Model model;
  model.model_type = Model::kBpe;
  model.pieces = {{"<unk>", 0, Model::kUnknown}, {std::move(text), 0, type}, {kWordMark, -1}, {"a", -2}};
  const testing::TemporaryFolder folder;
  const BpeDefinition definition = read_sentencepiece(serialize(model), "model");
  const BpeTokenizer tokenizer(definition);
  EXPECT_EQ(tokenizer.encode("x"), (std::vector<std::int32_t>{2, 0}));
  return testing::error_of([&] { write_tokenizer_file(definition, FileKind::kTokenizerJson, folder / "t.json"); });
}

TEST(SentencePieceConversion, ACharacterWithTheNameOfASpecialPieceStaysUnknown) {
  EXPECT_THAT(error_of_piece("x", Model::kControl), HasSubstr("the token 'x' is no piece of a text"));
  EXPECT_THAT(error_of_piece("x", Model::kUnused), HasSubstr("unused"));
  EXPECT_EQ(error_of_piece("<x>", Model::kControl), "no error");
}

TEST(SentencePieceErrors, DamagedPiecesOfAnyTypeAreNamed) {
  const auto error = [](const std::string& text, std::uint64_t type) {
    Model model;
    model.model_type = Model::kBpe;
    model.pieces = {{"<unk>", 0, Model::kUnknown}, {kWordMark, -1}, {"a", -2}, {text, -3, type}};
    return testing::error_of([&] { BpeTokenizer(read_sentencepiece(serialize(model), "model"), "model"); });
  };
  EXPECT_EQ(error("b", Model::kUserDefined), "no error");
  for (const std::uint64_t type : {Model::kUserDefined, Model::kUnused}) {
    EXPECT_THAT(error("", type), HasSubstr("model: piece 3 is empty"));
    EXPECT_THAT(error("a", type), HasSubstr("'a' is the text of two pieces, 2 and 3"));
    EXPECT_THAT(error("\xFF", type), HasSubstr("model: piece 3 is not valid UTF-8"));
  }
  EXPECT_THAT(error("b", 7), HasSubstr("piece 3 has the unknown type 7"));
}

}  // namespace
}  // namespace dragoman::tokenizer

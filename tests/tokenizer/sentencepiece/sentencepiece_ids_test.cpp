#include "formats_test_support.h"
#include "sentencepiece/sentencepiece_files.h"
#include "sentencepiece/sentencepiece_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/encoding_modes.h>
#include <dragoman/tokenizer/sentencepiece_ids.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using ::testing::HasSubstr;
using Type = UnigramPiece::Type;

std::string golden_model(const std::string& name) {
  return core::read_file(testing::golden_file(name), TokenizerFile::kLargest);
}

std::optional<std::int32_t> id_in(const core::Json& object, const char* key) {
  return object.contains(key) ? std::optional(object[key].get<std::int32_t>()) : std::nullopt;
}

RenumberedPieces list_of(const core::Json& golden) {
  RenumberedPieces list;
  for (const core::Json& piece : golden["pieces"])
    list.pieces.push_back(
        {piece[0].get<std::string>(), piece[1].is_null() ? std::nullopt : std::optional(Type::kControl)});
  const core::Json& special = golden["special"];
  list.unknown = id_in(special, "unknown");
  list.begin = id_in(special, "begin");
  list.end = id_in(special, "end");
  list.padding = id_in(special, "padding");
  return list;
}

/// As a model folder opens it.
std::unique_ptr<Tokenizer> open_with_option(const RenumberedModel& made, std::optional<std::size_t> listed) {
  core::Json options = core::Json::object();
  if (listed) options["listed"] = *listed;
  core::OptionReader own(options, "options");
  return make_tokenizer(FileKind::kSentencePiece, {"made.model", made.model}, own);
}

/// What the tokenizers of MarianMT, NLLB, mBART-50 and M2M-100 give (make_renumbered_golden.py).
TEST(SentencePieceIds, SameIdsAsTheTokenizersOfTranslationModels) {
  const core::Json cases = core::load_json(testing::golden_file("renumbered.json").string());
  ASSERT_EQ(cases.size(), 5U);
  for (const core::Json& golden : cases) {
    SCOPED_TRACE(golden["name"]);
    const RenumberedPieces list = list_of(golden);
    const RenumberedModel made =
        renumber_sentencepiece(golden_model(golden["model"].get<std::string>()), list, "the model");
    const bool listed = golden["listed"].get<bool>();
    EXPECT_EQ(made.beyond > 0, listed);
    const auto tokenizer = open_with_option(made, listed ? std::optional(list.pieces.size()) : std::nullopt);
    ASSERT_EQ(tokenizer->size(), static_cast<std::int32_t>(list.pieces.size()));
    for (std::size_t id = 0; id < list.pieces.size(); ++id)
      ASSERT_EQ(tokenizer->piece(static_cast<std::int32_t>(id)), list.pieces[id].text);
    const bool unigram = golden["model"].get<std::string>().find("unigram") != std::string::npos;
    EXPECT_EQ(has_encoding_mode(*tokenizer, EncodingMode::kSample), unigram);
    EXPECT_EQ(has_encoding_mode(*tokenizer, EncodingMode::kDropout), !unigram);
    if (unigram)
      for (const core::Json& row : golden["rows"]) {
        const auto text = row["text"].get<std::string>();
        EXPECT_EQ(tokenizer->encode_n_best(text, 2).at(0).ids, tokenizer->encode(text)) << text;
      }
    const auto encoder = tokenizer->make_encoder({.match_special_tokens = true});
    for (const core::Json& row : golden["rows"]) {
      const auto text = row["text"].get<std::string>();
      const auto ids = row["ids"].get<std::vector<std::int32_t>>();
      EXPECT_EQ(tokenizer->encode(text, {.match_special_tokens = true}), ids) << text;
      std::vector<std::int32_t> again;
      encoder->encode(text, 0, again);
      EXPECT_EQ(again, ids) << text;
    }
  }
}

TEST(SentencePieceIds, KeepsAllElseOfTheModel) {
  for (const char* name : {"sentencepiece_unigram_map.model", "sentencepiece_bpe_unused_bytes.model",
                           "sentencepiece_bpe_symbols_map.model"}) {
    const std::string bytes = golden_model(name);
    const auto pieces = sentencepiece_pieces(bytes, name);
    RenumberedPieces list;
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) list.pieces.push_back({piece->text});
    const RenumberedModel made = renumber_sentencepiece(bytes, list, name);
    EXPECT_EQ(made.lacking, 0U);
    EXPECT_EQ(made.beyond, 0U);
    const auto before = open_sentencepiece(bytes, name);
    const auto after = open_sentencepiece(made.model, name);
    const std::int32_t last = before->size() - 1;
    for (const std::string& line : testing::lines_of(testing::golden_file("corpus.txt"))) {
      std::vector<std::int32_t> turned = before->encode(line);
      for (std::int32_t& id : turned) id = last - id;
      EXPECT_EQ(after->encode(line), turned) << line;
      EXPECT_EQ(after->decode(turned), before->decode(before->encode(line)));
    }
  }
}

TEST(SentencePieceIds, APieceThatMergesCouldMakeIsNotAnUnusedOne) {
  // "th" and "e" are neighbours in "the", so an unused "the" would be merged on the way to "thea".
  SentencePieceModel model;
  model.model_type = SentencePieceModel::kBpe;
  model.normalizer_name = "identity";
  model.pieces = {{"<unk>", 0, SentencePieceModel::kUnknown},
                  {"th", 0, 1},
                  {"ea", -1, 1},
                  {"thea", -2, 1},
                  {"t", -3, 1},
                  {"h", -4, 1},
                  {"e", -5, 1},
                  {"a", -6, 1},
                  {"\xE2\x96\x81", -7, 1}};
  RenumberedPieces list;
  for (const auto& piece : model.pieces) list.pieces.push_back({piece.text});
  list.pieces.push_back({"the"});
  list.pieces.push_back({"xyz"});
  const RenumberedModel made = renumber_sentencepiece(serialize(model), list, "the model");
  EXPECT_EQ(made.lacking, 2U);
  const auto pieces = sentencepiece_pieces(made.model, "made");
  EXPECT_EQ(pieces[9].type, Type::kControl);
  EXPECT_EQ(pieces[10].type, Type::kUnused);
  const auto tokenizer = open_sentencepiece(made.model, "made");
  EXPECT_EQ(tokenizer->encode("thea"), (std::vector<std::int32_t>{8, 3}));
  EXPECT_EQ(tokenizer->encode("the"), (std::vector<std::int32_t>{8, 1, 6}));
  EXPECT_EQ(tokenizer->decode(std::vector{10}), "xyz");
}

TEST(SentencePieceIds, RefusesListsThatAreNone) {
  const std::string model = golden_model("sentencepiece_unigram_plain.model");
  const auto made_with = [&](RenumberedPieces list) {
    return [&model, list] { renumber_sentencepiece(model, list, "m"); };
  };
  EXPECT_THAT(testing::message_of(made_with({.pieces = {{"<unk>"}, {"a"}, {"a"}}}), ErrorCode::kBadInput),
              HasSubstr("'a' is listed twice, as 1 and 2"));
  EXPECT_THAT(testing::message_of(made_with({.pieces = {{"<unk>"}, {""}}}), ErrorCode::kBadInput),
              HasSubstr("the listed piece 1 is empty"));
  EXPECT_THAT(testing::message_of(made_with({.pieces = {{"<unk>"}, {"\xFF"}}}), ErrorCode::kBadInput),
              HasSubstr("not valid UTF-8"));
  EXPECT_THAT(testing::message_of(made_with({.pieces = {{"a"}}}), ErrorCode::kBadInput),
              HasSubstr("the list lacks '<unk>'"));
  EXPECT_THAT(testing::message_of(made_with({.pieces = {{"a"}}, .unknown = 1}), ErrorCode::kBadInput),
              HasSubstr("beyond the list of 1 pieces"));
  const RenumberedModel made = renumber_sentencepiece(model, {.pieces = {{"a"}, {"<unk>"}}}, "m");
  EXPECT_THAT(testing::message_of([&] { open_with_option(made, 1); }, ErrorCode::kInvalidArgument),
              HasSubstr("cannot be the listed ones"));
  EXPECT_THAT(testing::message_of([&] { open_with_option(made, 100000); }, ErrorCode::kInvalidArgument),
              HasSubstr("cannot be the listed ones"));
}

}  // namespace
}  // namespace dragoman::tokenizer

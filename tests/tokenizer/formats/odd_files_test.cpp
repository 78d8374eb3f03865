#include "formats_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

Ids ids_of(const core::Json& json) {
  return json.get<Ids>();
}

Ids surrounded(const SurroundingIds& around, const Ids& ids) {
  Ids all = around.in_front;
  all.insert(all.end(), ids.begin(), ids.end());
  all.insert(all.end(), around.behind.begin(), around.behind.end());
  return all;
}

/// golden/make_odd_files_golden.py
TEST(OddTokenizerJson, HasTheIdsOfTheLibrary) {
  const testing::TemporaryFolder folder;
  const core::Json cases = core::load_json(testing::golden_file("odd_files.json").string());
  ASSERT_GE(cases.size(), 20U);
  for (const core::Json& each : cases) {
    const std::string name = each["name"].get<std::string>();
    core::write_file(folder / "tokenizer.json", each["file"].dump());
    const auto tokenizer = load_tokenizer(folder / "tokenizer.json");
    const auto encoder = tokenizer->make_encoder({.match_special_tokens = true});
    const SurroundingIds around = ids_of_post_processor(*tokenizer).value_or(SurroundingIds());
    for (const core::Json& row : each["rows"]) {
      const auto text = row["text"].get<std::string>();
      const Ids ids = tokenizer->encode(text, {.match_special_tokens = true});
      EXPECT_EQ(ids, ids_of(row["ids"])) << name << ": " << text;
      EXPECT_EQ(surrounded(around, ids), ids_of(row["added"])) << name << ": " << text;
      Ids again;
      encoder->encode(text, 0, again);
      EXPECT_EQ(again, ids) << name << ": " << text;
      std::size_t bytes = 0;
      for (const Piece& piece : tokenizer->encode_pieces(text, {.match_special_tokens = true})) {
        EXPECT_GE(piece.begin, bytes) << name << ": " << text;
        bytes = piece.end;
      }
    }
  }
}

TEST(OddTokenizerJson, IdsWithoutAPieceDecodeToNothing) {
  const testing::TemporaryFolder folder;
  for (const core::Json& each : core::load_json(testing::golden_file("odd_files.json").string())) {
    if (each["name"] != "gap") continue;
    core::write_file(folder / "tokenizer.json", each["file"].dump());
    const auto tokenizer = load_tokenizer(folder / "tokenizer.json");
    EXPECT_EQ(tokenizer->size(), 6);
    EXPECT_EQ(tokenizer->piece(4), "");
    EXPECT_EQ(tokenizer->id(""), std::nullopt);
    EXPECT_EQ(tokenizer->decode(Ids{1, 3, 4, 5}), "aab");
    EXPECT_THAT(testing::error_of([&] { read_tokenizer_file(folder / "tokenizer.json"); }),
                HasSubstr("a gap in its ids"));
  }
}

/// A template that names a token `times` times, which stands for as many ids.
std::string error_of_template(int times) {
  const testing::TemporaryFolder folder;
  core::Json file = core::load_json(testing::golden_file("odd_files.json").string())[0]["file"];
  core::Json steps = {{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}};
  for (int i = 0; i < times; ++i) steps.push_back({{"SpecialToken", {{"id", "x"}, {"type_id", 0}}}});
  const core::Json token = {{"id", "x"}, {"ids", std::vector<int>(static_cast<std::size_t>(times), 0)}};
  file["post_processor"] = {{"type", "TemplateProcessing"}, {"single", steps}, {"special_tokens", {{"x", token}}}};
  core::write_file(folder / "tokenizer.json", file.dump());
  const auto tokenizer = load_tokenizer(folder / "tokenizer.json");
  return testing::error_of([&] { ids_of_post_processor(*tokenizer); });
}

TEST(OddTokenizerJson, ATemplateAddsAFewIdsOnly) {
  EXPECT_EQ(error_of_template(30), "no error");
  EXPECT_THAT(error_of_template(40), HasSubstr("adds more than 1024 ids to a text"));
  EXPECT_THAT(error_of_template(3000), HasSubstr("adds more than 1024 ids to a text"));
}

std::string error_with_vocabulary(const core::Json& vocabulary, const core::Json& added) {
  const testing::TemporaryFolder folder;
  core::Json file = core::load_json(testing::golden_file("odd_files.json").string())[0]["file"];
  file["model"]["vocab"] = vocabulary;
  file["model"]["merges"] = core::Json::array();
  file["added_tokens"] = added;
  core::write_file(folder / "tokenizer.json", file.dump());
  return testing::error_of([&] { load_tokenizer(folder / "tokenizer.json"); });
}

TEST(OddTokenizerJson, IdsThatCannotBeMeantAreRefused) {
  EXPECT_THAT(error_with_vocabulary({{"<unk>", 0}, {"a", 2000000000}}, core::Json::array()),
              HasSubstr("'a' has the id 2000000000, but there are only 2 pieces"));
  EXPECT_THAT(error_with_vocabulary({{"<unk>", 0}, {"a", 1}, {"b", 1}}, core::Json::array()),
              HasSubstr("share the id 1"));
  // The library counts on from the number of pieces and gives one id to two.
  const core::Json token = {{"id", 9},         {"content", "<s>"}, {"single_word", false}, {"lstrip", false},
                            {"rstrip", false}, {"special", true},  {"normalized", false}};
  EXPECT_THAT(error_with_vocabulary({{"<unk>", 0}, {"a", 2}}, core::Json::array({token})),
              HasSubstr("gives '<s>' the id 2, which a piece of the vocabulary has already"));
}

TEST(OddTokenizerJson, TruncationAndPaddingAreToldOnce) {
  const testing::TemporaryFolder folder;
  for (const core::Json& each : core::load_json(testing::golden_file("odd_files.json").string())) {
    core::write_file(folder / "tokenizer.json", each["file"].dump());
    std::vector<std::string> told;
    const auto log = [&](core::LogLevel, std::string_view message) { told.emplace_back(message); };
    open_tokenizer_file(folder / "tokenizer.json", {.log = log});
    if (each["name"] == "truncation and padding")
      EXPECT_THAT(told, ElementsAre(HasSubstr("truncation and padding are ignored")));
    else
      EXPECT_TRUE(told.empty()) << each["name"];
  }
}

/// The library draws with such a file; without its dropout it has these ids.
TEST(OddTokenizerJson, ADropoutIsToldAndNotDrawn) {
  const testing::TemporaryFolder folder;
  core::Json json = core::parse_json(core::read_file(testing::golden_file("byte_level_plain.tokenizer.json")), "file");
  const auto plain = load_tokenizer(testing::golden_file("byte_level_plain.tokenizer.json"));
  const std::string text = "the river and the song of the interpreters";
  for (const double dropout : {0.0, 0.5}) {
    json["model"]["dropout"] = dropout;
    core::write_file(folder / "tokenizer.json", json.dump());
    std::vector<std::string> told;
    const auto log = [&](core::LogLevel, std::string_view message) { told.emplace_back(message); };
    const auto tokenizer = open_tokenizer_file(folder / "tokenizer.json", {.log = log});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(tokenizer->encode(text), plain->encode(text));
    if (dropout == 0) {
      EXPECT_TRUE(told.empty());
      EXPECT_NO_THROW(load_tokenizer(folder / "tokenizer.json"));
    } else {
      EXPECT_THAT(told, ElementsAre(HasSubstr("model.dropout: 0.5 is ignored")));
      EXPECT_THAT(testing::error_of([&] { load_tokenizer(folder / "tokenizer.json"); }),
                  HasSubstr("(data.bpe_dropout)"));
    }
  }
}

TEST(OddTokenizerJson, PostProcessorsThatDoMoreAreRefused) {
  const testing::TemporaryFolder folder;
  core::Json file = core::load_json(testing::golden_file("odd_files.json").string())[0]["file"];
  const core::Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const auto error = [&](const core::Json& single) {
    file["post_processor"] = {
        {"type", "TemplateProcessing"}, {"single", single}, {"pair", single}, {"special_tokens", core::Json::object()}};
    core::write_file(folder / "tokenizer.json", file.dump());
    const auto tokenizer = load_tokenizer(folder / "tokenizer.json");
    return testing::error_of([&] { ids_of_post_processor(*tokenizer); });
  };
  EXPECT_THAT(error(core::Json::array({text, text})), HasSubstr("repeats the text"));
  EXPECT_THAT(error(core::Json::array()), HasSubstr("leaves the text out"));
  EXPECT_THAT(error(core::Json::array({{{"SpecialToken", {{"id", "<s>"}}}}, text})), HasSubstr("lacks a part"));
  EXPECT_EQ(ids_of_post_processor(*load_tokenizer(testing::golden_file("sentencepiece_plain.model"))), std::nullopt);
}

}  // namespace
}  // namespace dragoman::tokenizer

#include "error_message.h"

#include <ctime>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/nearest_name.h>
#include <dragoman/core/option_spelling.h>
#include <dragoman/core/options.h>

namespace dragoman::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;

TEST(OptionReader, ReadsValuesAndFallsBackToDefaults) {
  const Json json =
      parse_json(R"({"size": 7, "rate": 0.5, "on": true, "name": "x", "list": [1, 2], "none": null})", "test");
  OptionReader options(json, "test");
  EXPECT_EQ(options.get("size", 1), 7);
  EXPECT_EQ(options.get("size", std::uint64_t{1}), 7U);
  EXPECT_EQ(options.get("rate", 1.0), 0.5);
  EXPECT_EQ(options.get("size", 1.0), 7.0) << "a whole number is a number";
  EXPECT_TRUE(options.get("on", false));
  EXPECT_EQ(options.get("name", "y"), "x");
  EXPECT_EQ(options.subtree("list"), Json::array({1, 2}));
  EXPECT_EQ(options.get("none", 5), 5) << "null is absent";
  EXPECT_EQ(options.get("other", 5), 5);
  EXPECT_NO_THROW(options.finish());
}

TEST(OptionReader, RefusesUnknownKeysWithASuggestion) {
  const Json json = parse_json(R"({"learning-rat": 1})", "train.yml");
  OptionReader options(json, "train.yml");
  options.get("learning-rate", 0.1);
  options.get("beam-size", 4);
  EXPECT_THAT(message_of([&] { options.finish(); }),
              AllOf(HasSubstr("train.yml"), HasSubstr("'learning-rat'"), HasSubstr("did you mean 'learning-rate'?")));
}

TEST(OptionReader, SuggestsNothingFarFetched) {
  const Json json = parse_json(R"({"zzzzzzzz": 1})", "t");
  OptionReader options(json, "t");
  options.get("beam-size", 4);
  EXPECT_THAT(message_of([&] { options.finish(); }), ::testing::Not(HasSubstr("did you mean")));
}

TEST(OptionReader, RefusesValuesOfAnotherType) {
  const Json json =
      parse_json(R"({"text": "x", "real": 1.5, "negative": -1, "number": 1, "big": 3000000000})", "where");
  OptionReader options(json, "where");
  EXPECT_THAT(message_of([&] { options.get("text", 1); }),
              AllOf(HasSubstr("where"), HasSubstr("text"), HasSubstr("whole number"), HasSubstr("\"x\"")));
  EXPECT_THAT(message_of([&] { options.get("text", 1.0); }), HasSubstr("number"));
  EXPECT_THAT(message_of([&] { options.get("text", true); }), HasSubstr("true or false"));
  EXPECT_THAT(message_of([&] { options.get("real", 1); }), HasSubstr("whole number"));
  EXPECT_THAT(message_of([&] { options.get("negative", std::uint64_t{1}); }), HasSubstr("not negative"));
  EXPECT_THAT(message_of([&] { options.get("number", "x"); }), HasSubstr("text"));
  EXPECT_THAT(message_of([&] { options.get("number", false); }), HasSubstr("true or false"));
  EXPECT_THAT(message_of([&] { options.get("big", 1); }), HasSubstr("a smaller number"));
}

TEST(OptionReader, RefusesNumbersThatDoNotFit) {
  const Json json = parse_json(R"({"big": 3000000000, "small": -3000000000})", "where");
  OptionReader options(json, "where");
  EXPECT_EQ(options.get("big", std::int64_t{0}), 3000000000);
  EXPECT_THAT(message_of([&] { options.get("big", std::int32_t{0}); }), HasSubstr("3000000000"));
  EXPECT_THAT(message_of([&] { options.get("small", std::int32_t{0}); }), HasSubstr("-3000000000"));
}

enum class Color { kRed, kGreen };

TEST(OptionReader, ChoicesAreListedInTheError) {
  const std::vector<std::pair<std::string_view, Color>> colors{{"red", Color::kRed}, {"green", Color::kGreen}};
  const Json json = parse_json(R"({"good": "green", "bad": "blue"})", "where");
  OptionReader options(json, "where");
  EXPECT_EQ(options.choice("good", Color::kRed, colors), Color::kGreen);
  EXPECT_EQ(options.choice("absent", Color::kRed, colors), Color::kRed);
  EXPECT_THAT(message_of([&] { options.choice("bad", Color::kRed, colors); }),
              AllOf(HasSubstr("'blue'"), HasSubstr("red, green")));
}

TEST(OptionReader, RequiredKeysMustBeThere) {
  const Json json = parse_json(R"({"here": 1})", "where");
  OptionReader options(json, "where");
  EXPECT_EQ(options.require_key<int>("here"), 1);
  EXPECT_THAT(message_of([&] { options.require_key<int>("there"); }), AllOf(HasSubstr("where"), HasSubstr("'there'")));
}

TEST(OptionReader, ChildrenNameTheirPlace) {
  const Json json = parse_json(R"({"model": {"size": "x"}})", "config.json");
  OptionReader options(json, "config.json");
  OptionReader model = options.child("model");
  EXPECT_THAT(message_of([&] { model.get("size", 1); }), HasSubstr("config.json: model: size"));
  OptionReader absent = options.child("absent");
  EXPECT_EQ(absent.get("size", 3), 3);
  EXPECT_NO_THROW(absent.finish());
  EXPECT_NO_THROW(options.finish());
}

TEST(OptionReader, NeedsAnObject) {
  const Json list = parse_json("[1]", "where");
  EXPECT_THAT(message_of([&] { OptionReader(list, "where"); }), HasSubstr("array"));
  const Json nothing;
  EXPECT_NO_THROW(OptionReader(nothing, "where").finish());
}

TEST(SpelledWithUnderscores, ChangesKeysAloneAndTakesEachOnce) {
  EXPECT_EQ(spelled_with_underscores({{"a-b-c", "d-e"}, {"f", 1}}, "here"), Json({{"a_b_c", "d-e"}, {"f", 1}}));
  EXPECT_EQ(spelled_with_underscores("a-b", "here"), Json("a-b"));
  EXPECT_EQ(testing::message_of(
                [] {
                  spelled_with_underscores({{"a-b", 1}, {"a_b", 2}}, "here");
                },
                ErrorCode::kBadInput),
            "here: 'a_b' is there twice, spelled with - and with _; leave one of them out");
}

/// A search among all keys for each of them would take minutes.
TEST(SpelledWithUnderscores, TakesManyKeys) {
  constexpr int kKeys = 100'000;
  std::string text = "{";
  for (int i = 0; i < kKeys; ++i) text += (i > 0 ? ",\"k-" : "\"k-") + std::to_string(i) + "\":1";
  const Json many = parse_json(text + "}", "many");
  const std::clock_t begin = std::clock();
  EXPECT_EQ(spelled_with_underscores(many, "here").size(), many.size());
  EXPECT_LT(std::clock() - begin, 5 * CLOCKS_PER_SEC);
}

TEST(OptionReader, WhatAFilePutIntoAMessageIsHarmlessAndShort) {
  const std::string hostile = "\x1b[2J\n" + std::string(1 << 20, 'k');
  const Json json = {{hostile, 1}, {"kind", hostile}, {"number", hostile}};
  OptionReader options(json, "where");
  for (const std::string& message :
       {message_of([&] { options.finish(); }), message_of([&] { options.get("number", 1); }), message_of([&] {
          options.choice("kind", 1, {{"one", 1}});
        }),
        message_of([&] { parse_json(hostile, "x"); })}) {
    EXPECT_EQ(message.find_first_of("\x1b\n"), message.npos) << message;
    EXPECT_LT(message.size(), 500U);
  }
}

TEST(NearestName, PrefersTheClosest) {
  EXPECT_EQ(nearest_name("beamsize", {"beam-size", "batch-size", "seed"}), "beam-size");
  EXPECT_EQ(nearest_name("sead", {"beam-size", "batch-size", "seed"}), "seed");
  EXPECT_EQ(nearest_name("temperature", {"beam-size"}), "");
  EXPECT_EQ(nearest_name("x", {}), "");
}

}  // namespace
}  // namespace dragoman::core

#include <ctime>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/options.h>

namespace dragoman::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

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
  EXPECT_EQ(options.get("list", std::vector<int>{}), (std::vector<int>{1, 2}));
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
  EXPECT_THAT(message_of([&] { options.get("negative", std::uint32_t{1}); }), HasSubstr("not negative"));
  EXPECT_THAT(message_of([&] { options.get("number", "x"); }), HasSubstr("text"));
  EXPECT_THAT(message_of([&] { options.get("number", false); }), HasSubstr("true or false"));
  EXPECT_THAT(message_of([&] { options.get("text", std::vector<int>{}); }), HasSubstr("text"));
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

TEST(ParseJson, ErrorsNameFileLineAndColumn) {
  EXPECT_THAT(message_of([] { parse_json("{\n  \"a\": 1,\n  \"b\" 2\n}", "x.json"); }),
              AllOf(HasSubstr("x.json"), HasSubstr("line 3, column 7")));
  EXPECT_THAT(message_of([] { parse_json("", "empty.json"); }), HasSubstr("empty.json"));
  EXPECT_THAT(message_of([] { parse_json("{\"a\": \"\xFF\"}", "bytes.json"); }), HasSubstr("bytes.json"));
}

TEST(ParseJson, DeepNestingDoesNotCrash) {
  const std::string deep(1000000, '[');
  EXPECT_THAT(message_of([&] { parse_json(deep, "deep.json"); }), HasSubstr("deep.json"));
  const std::string closed = std::string(100000, '[') + std::string(100000, ']');
  try {
    parse_json(closed, "deep.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
  }
}

TEST(ParseJson, KeepsTheOrderOfKeysAndTheLastOfEqualOnes) {
  EXPECT_EQ(parse_json(R"({"z": 1, "a": {"b": []}, "z": {"y": 2}, "m": [{}, 1.5, -1, true, null, "t"]})", "t").dump(),
            R"({"z":{"y":2},"a":{"b":[]},"m":[{},1.5,-1,true,null,"t"]})");
  EXPECT_EQ(parse_json("7", "t"), 7);
  EXPECT_TRUE(parse_json("18446744073709551615", "t").is_number_unsigned());
}

// Row 13 of issue 8: looking each key up among all before it took minutes.
TEST(ParseJson, ManyKeysTakeNoTime) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) text += fmt::format("{}\"key{}\":{}", i == 0 ? "" : ",", i % 299'999, i);
  const std::clock_t begin = std::clock();
  const Json tree = parse_json(text + "}", "t");
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 10);
  ASSERT_EQ(tree.size(), 299'999U);
  EXPECT_EQ(tree.begin().value(), 299'999);
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

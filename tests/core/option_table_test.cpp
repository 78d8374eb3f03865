#include "dragoman/core/option_table.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Inner {
  double rate = 0.5;
  bool operator==(const Inner&) const = default;
};

enum class Colour { kRed, kBlue };

struct Outer {
  int count = 3;
  bool loud = false;
  std::string name = "nobody";
  std::string file{};
  Colour colour = Colour::kBlue;
  Inner beside{};
  Inner below{};
  bool operator==(const Outer&) const = default;
};

OptionTable<Inner> inner_table() {
  return OptionTable<Inner>().group("Inner").number("rate", &Inner::rate, kShare, "P", "a share");
}

OptionTable<Outer> outer_table() {
  return OptionTable<Outer>()
      .group("Outer")
      .number("count", &Outer::count, {.least = 1, .most = 9}, "N", "how many")
      .flag("loud", &Outer::loud, "shout")
      .text("name", &Outer::name, "NAME", "who")
      .text("file", &Outer::file, "FILE", "where")
      .choice("colour", &Outer::colour, {{"red", Colour::kRed}, {"blue", Colour::kBlue}}, "COLOUR", "which")
      .include(&Outer::beside, inner_table())
      .nested("below", &Outer::below, inner_table());
}

Outer read(const Json& json) {
  OptionReader reader(json, "here");
  Outer outer;
  outer_table().read(reader, outer);
  reader.finish();
  return outer;
}

std::string refusal(const Json& json) {
  try {
    read(json);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(OptionTable, ReadsWhatIsThereAndLeavesTheRest) {
  EXPECT_EQ(read(Json::object()), Outer{});
  const Outer outer = read({{"count", 9}, {"loud", true}, {"colour", "red"}, {"rate", 1}, {"below", {{"rate", 0.25}}}});
  EXPECT_EQ(outer, (Outer{.count = 9, .loud = true, .colour = Colour::kRed, .beside = {1}, .below = {0.25}}));
}

TEST(OptionTable, WhatItWritesItReads) {
  const Outer outer{.count = 4, .loud = true, .name = "somebody", .file = "f", .colour = Colour::kRed, .beside = {0.1}};
  Json json = Json::object();
  outer_table().write(outer, json);
  EXPECT_EQ(read(json), outer);
  EXPECT_EQ(json["below"]["rate"], 0.5);
}

TEST(OptionTable, NamesTheKeyThatIsWrong) {
  EXPECT_THAT(refusal({{"count", 0}}), HasSubstr("here: count: is 0; it must be a whole number from 1 to 9"));
  EXPECT_THAT(refusal({{"count", "1"}}), HasSubstr("count"));
  EXPECT_THAT(refusal({{"rate", 0}}), HasSubstr("rate: is 0; it must be a number above 0 and at most 1"));
  EXPECT_THAT(refusal({{"colour", "green"}}), HasSubstr("red, blue"));
  EXPECT_THAT(refusal({{"below", {{"rat", 1}}}}), HasSubstr("did you mean 'rate'"));
}

TEST(OptionTable, FindsValuesOutOfRangeThatWereSetInPlace) {
  EXPECT_EQ(outer_table().problem(Outer{}), "");
  EXPECT_THAT(outer_table().problem({.count = 10}), HasSubstr("count is 10; it must be"));
  EXPECT_THAT(outer_table().problem({.beside = {.rate = std::numeric_limits<double>::quiet_NaN()}}),
              HasSubstr("rate is nan"));
  EXPECT_THAT(outer_table().problem({.below = {.rate = 2}}), HasSubstr("below.rate is 2"));
  EXPECT_EQ(outer_table().problem({.colour = static_cast<Colour>(7)}), "colour is none of: red, blue");
}

TEST(OptionTable, DescribesItsOptionsInOrder) {
  std::vector<std::string> names;
  std::vector<Json> defaults;
  const auto table = outer_table();
  for (const Option& option : table.options()) {
    names.push_back(option.name);
    defaults.push_back(option.fallback);
  }
  EXPECT_THAT(names, ElementsAre("count", "loud", "name", "file", "colour", "rate", "below.rate"));
  EXPECT_THAT(defaults, ElementsAre(3, false, "nobody", Json(), "blue", 0.5, 0.5));
  EXPECT_EQ(table.options()[0].group, "Outer");
  EXPECT_EQ(table.options()[5].group, "Inner");
}

TEST(OptionTable, ReadsWordsOfACommandLine) {
  const auto table = outer_table();
  const auto parse = [&](std::size_t option, const std::string& word) { return table.options()[option].parse(word); };
  EXPECT_EQ(parse(0, "7"), 7);
  EXPECT_EQ(parse(2, "7"), "7");
  EXPECT_EQ(parse(4, "red"), "red");
  EXPECT_EQ(parse(5, "0.5"), 0.5);
  for (const char* word : {"", " 7", "7 ", "0", "10", "1e1", "7.0", "+7"}) EXPECT_THROW(parse(0, word), Error) << word;
  for (const char* word : {"", "nan", "inf", "0", "1.5", "1e400"}) EXPECT_THROW(parse(5, word), Error) << word;
  EXPECT_THROW(parse(4, "green"), Error);
}

}  // namespace
}  // namespace dragoman::core

#include "dragoman/core/option_table.h"

#include "dragoman/core/json.h"
#include "dragoman/core/option_error.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::core {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
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
  std::vector<std::string> words = {"a", "b"};
  bool polite = true;
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
      .choice("colour", &Outer::colour, {{"red", Colour::kRed}, {"blue", Colour::kBlue}}, "COLOUR", "which",
              {{"loud", "`loud` is an option of its own"}})
      .include(&Outer::beside, inner_table())
      .nested("below", &Outer::below, inner_table())
      .texts("words", &Outer::words, "WORD...", "which words")
      .flag("polite", &Outer::polite, "say please", "do not say please");
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

TEST(OptionTable, DescribesRangesInWordsOfJsonSchema) {
  EXPECT_EQ(number_schema<int>({.least = 1, .most = 8}).get(), (Json{{"minimum", 1}, {"maximum", 8}}));
  EXPECT_EQ(number_schema(kShare).get(), (Json{{"minimum", 0.0}, {"exclusiveMinimum", true}, {"maximum", 1.0}}));
  EXPECT_EQ(number_schema(kPositive).get(), (Json{{"minimum", 0.0}, {"exclusiveMinimum", true}}));
  EXPECT_EQ(number_schema(kAnyNumber).get(), Json::object());
  EXPECT_EQ(number_schema<std::uint64_t>({}).get()["maximum"], std::numeric_limits<std::uint64_t>::max());
}

TEST(OptionTable, FindsValuesOutOfRangeThatWereSetInPlace) {
  EXPECT_EQ(outer_table().problem(Outer{}), "");
  EXPECT_THAT(outer_table().problem({.count = 10}), HasSubstr("count is 10; it must be"));
  EXPECT_THAT(outer_table().problem({.beside = {.rate = std::numeric_limits<double>::quiet_NaN()}}),
              HasSubstr("rate is nan"));
  EXPECT_THAT(outer_table().problem({.below = {.rate = 2}}), HasSubstr("below.rate is 2"));
  EXPECT_EQ(outer_table().problem({.colour = static_cast<Colour>(7)}), "colour is none of: red, blue");
}

TEST(OptionTable, AdvisesAboutValuesThatBelongElsewhere) {
  EXPECT_THAT(refusal({{"colour", "loud"}}),
              EndsWith("colour: must be one of: red, blue; `loud` is an option of its own"));
  EXPECT_THAT(refusal({{"colour", "green"}}), EndsWith("it must be one of: red, blue"));
  const auto table = outer_table();
  try {
    std::ranges::find(table.options(), "colour", &Option::name)->parse("loud");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "must be one of: red, blue; `loud` is an option of its own");
  }
}

TEST(OptionTable, DescribesItsOptionsInOrder) {
  std::vector<std::string> names;
  std::vector<Json> defaults;
  const auto table = outer_table();
  for (const Option& option : table.options()) {
    names.push_back(option.name);
    defaults.push_back(option.fallback.get());
  }
  EXPECT_THAT(names, ElementsAre("count", "loud", "name", "file", "colour", "rate", "below.rate", "words", "polite"));
  EXPECT_THAT(defaults, ElementsAre(3, false, "nobody", Json(), "blue", 0.5, 0.5, Json{"a", "b"}, true));
  EXPECT_EQ(table.options().back().negation, "do not say please");
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

/// What somebody says, all of which may be left out.
struct Said {
  std::optional<int> count{};
  std::optional<bool> loud{};
  std::optional<std::string> name{};
  std::optional<std::string> colour{};
  bool operator==(const Said&) const = default;
};

OptionTable<Said> said_table() {
  return OptionTable<Said>()
      .number("count", &Said::count, 3, {.least = 1, .most = 9}, "N", "how many")
      .flag("loud", &Said::loud, false, "shout")
      .text("name", &Said::name, "nobody", "NAME", "who")
      .choice("colour", &Said::colour, "blue", {"red", "blue"}, "COLOUR", "which");
}

Said read_said(const Json& json) {
  OptionReader reader(json, "here");
  Said said;
  said_table().read(reader, said);
  reader.finish();
  return said;
}

TEST(OptionTable, TellsWhatWasSaidFromWhatWasNot) {
  EXPECT_EQ(read_said(Json::object()), Said{});
  EXPECT_EQ(read_said({{"count", 3}, {"loud", false}}), (Said{.count = 3, .loud = false}))
      << "though these are defaults";
  EXPECT_EQ(read_said({{"name", ""}, {"colour", "red"}}), (Said{.name = "", .colour = "red"}));
  Json json = Json::object();
  said_table().write({.loud = true, .colour = "blue"}, json);
  EXPECT_EQ(json, (Json{{"loud", true}, {"colour", "blue"}}));
  EXPECT_THROW(read_said({{"count", 10}}), Error);
  EXPECT_THROW(read_said({{"colour", "green"}}), Error);
  EXPECT_EQ(said_table().problem({}), "");
  EXPECT_THAT(said_table().problem({.count = 0}), HasSubstr("count is 0"));
  std::vector<Json> defaults;
  const auto table = said_table();
  for (const Option& option : table.options()) defaults.push_back(option.fallback.get());
  EXPECT_THAT(defaults, ElementsAre(3, false, "nobody", "blue"));
}

TEST(OptionTable, CompletesWhatWasNotSaid) {
  Said first{.count = 3, .name = ""};
  said_table().complete(first, {.count = 7, .loud = true, .name = "somebody"});
  EXPECT_EQ(first, (Said{.count = 3, .loud = true, .name = ""}));
  said_table().complete(first, {.loud = false, .colour = "red"});
  EXPECT_EQ(first, (Said{.count = 3, .loud = true, .name = "", .colour = "red"}));
}

TEST(OptionTable, ReadsATextOrAListOfTexts) {
  EXPECT_THAT(read({{"words", "one"}}).words, ElementsAre("one"));
  EXPECT_THAT(read({{"words", {"x", "y", "z"}}}).words, ElementsAre("x", "y", "z"));
  EXPECT_THAT(read({{"words", Json::array()}}).words, ElementsAre());
  EXPECT_THAT(read(Json::object()).words, ElementsAre("a", "b"));
  EXPECT_THAT(refusal({{"words", {"x", 1}}}), HasSubstr("here: words: must be a text or a list of texts"));
}

TEST(OptionTable, AnUnknownKeyIsTheOptionOfItsError) {
  const Json json{{"cuont", 3}};
  try {
    read(json);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(option_of(error), "cuont");
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'count'"));
  }
}

TEST(OptionTable, RequiresRangesOfValuesThatWereSetInPlace) {
  EXPECT_NO_THROW(outer_table().require_in_range(Outer{}));
  try {
    outer_table().require_in_range({.count = 10});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(option_of(error), "count");
  }
}

TEST(OptionTable, AnErrorCarriesTheKeyOfItsOption) {
  const auto option = [](const Json& json) {
    try {
      read_said(json);
    } catch (const Error& error) {
      return std::string(option_of(error));
    }
    return std::string("no error");
  };
  EXPECT_EQ(option({{"count", 10}}), "count");
  EXPECT_EQ(option({{"count", "10"}}), "count");
  EXPECT_EQ(option({{"colour", "green"}}), "colour");
  try {
    try {
      fail_option("loud", ErrorCode::kInvalidArgument, "use `{}`", "loud");
    } catch (const Error& error) {
      fail_within("there", error, ErrorCode::kBadInput);
    }
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "there: use `loud`");
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_EQ(option_of(error), "loud");
  }
  EXPECT_EQ(option_of(Error(ErrorCode::kIo, "no option")), "");
}

}  // namespace
}  // namespace dragoman::core

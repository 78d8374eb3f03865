#include "error_message.h"

#include <ctime>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/append_member.h>
#include <dragoman/core/error.h>
#include <dragoman/core/json.h>

namespace dragoman::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;

TEST(Json, ManyDifferencesAreCounted) {
  Json before = Json::object();
  for (int i = 0; i < 1000; ++i) before["key" + std::to_string(i)] = std::string(500, 'x');
  const std::string text = differences(before, Json::object());
  EXPECT_LT(text.size(), 1200U);
  EXPECT_THAT(text, AllOf(HasSubstr("key4 was"), HasSubstr("; and 995 more")));
}

/// What a file puts into a message has 120 bytes.
TEST(ParseJson, MessagesShowLittleOfALongText) {
  const std::string secret(5000, 's');
  for (const std::string& text :
       {secret, "{" + secret, "[\"" + secret, "[1 \"" + secret + "\"]", "[" + std::string(5000, '9') + "e999]",
        "\"" + secret + "'\"" + secret, "[\"a'\" 'b' " + secret}) {
    const std::string problem = try_parse_json(text).problem;
    EXPECT_THAT(problem, HasSubstr("not valid JSON"));
    EXPECT_LT(problem.size(), 480U) << problem;
    EXPECT_EQ(problem.find(std::string(121, 's')), std::string::npos) << problem;
    EXPECT_EQ(problem.find(std::string(121, '9')), std::string::npos) << problem;
  }
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

TEST(ParseJson, KeepsTheOrderOfKeys) {
  EXPECT_EQ(parse_json(R"({"z": {"y": 2}, "a": {"b": []}, "m": [{}, 1.5, -1, true, null, "t"]})", "t").dump(),
            R"({"z":{"y":2},"a":{"b":[]},"m":[{},1.5,-1,true,null,"t"]})");
  EXPECT_EQ(parse_json("7", "t"), 7);
  EXPECT_TRUE(parse_json("18446744073709551615", "t").is_number_unsigned());
}

TEST(ParseJson, AKeyThatAnObjectHasTwiceIsRefusedWithItsPlace) {
  EXPECT_EQ(message_of([] { parse_json("{\"a\": 1, \"b\": {\"a\": 1},\n \"a\": 2, \"b\": 3}", "x.json"); }),
            "x.json: the key 'a' is in this object twice at line 2, column 2");
  EXPECT_EQ(message_of([] { parse_json(R"([{"a": 1}, {"a": 1, "b": {"c": 1, "c": 1}}])", "x.json"); }),
            "x.json: the key 'c' is in this object twice at line 1, column 35");
  // Spelled otherwise, with quotes and backslashes in the key.
  EXPECT_EQ(try_parse_json(R"({"\\\"": 1, "\u005c\"" : 2})").position, 12U);
}

TEST(ParseJson, OfAKeyThatAnObjectHasTwiceTheLastValueCountsInFilesOfOtherPrograms) {
  EXPECT_EQ(parse_json(R"({"z": 1, "a": {"b": 1, "b": []}, "z": {"y": 2}})", "t", EqualKeys::kLastCounts).dump(),
            R"({"z":{"y":2},"a":{"b":[]}})");
}

// Row 13 of issue 8: looking each key up among all before it took minutes.
TEST(ParseJson, ManyKeysTakeNoTime) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) text += fmt::format("{}\"key{}\":{}", i == 0 ? "" : ",", i % 299'999, i);
  const std::clock_t begin = std::clock();
  const Json tree = parse_json(text + "}", "t", EqualKeys::kLastCounts);
  EXPECT_THAT(try_parse_json(text + "}").problem, HasSubstr("'key0' is in this object twice"));
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 10);
  ASSERT_EQ(tree.size(), 299'999U);
  EXPECT_EQ(tree.begin().value(), 299'999);
}

TEST(ParseJson, ReasonsAreWithoutTheCodesOfTheLibrary) {
  EXPECT_THAT(message_of([] { parse_json("{\n\"a\": }", "t.json"); }),
              AllOf(HasSubstr("t.json: not valid JSON: syntax error"), HasSubstr(" at line 2, column 6")));
  EXPECT_THAT(message_of([] { parse_json("1e999", "t.json"); }), HasSubstr("t.json: not valid JSON: number overflow"));
}

TEST(ParseJson, ReasonsAreShortAndPrintableWhateverTheTextHolds) {
  const std::string text = "{\"a\": \"\x1b[31m" + std::string(10000, 'x');
  const ParsedJson parsed = try_parse_json(text);
  EXPECT_THAT(parsed.problem, HasSubstr("not valid JSON: syntax error"));
  EXPECT_EQ(parsed.problem.find('\x1b'), std::string::npos);
  EXPECT_LT(parsed.problem.size(), 400U);
  EXPECT_EQ(parsed.position, 7U);
  EXPECT_EQ(try_parse_json("{\"a\": 1}").problem, "");
}

TEST(Json, DifferencesNameWhatChangedCameAndWent) {
  const Json before = {{"same", 1}, {"changed", 4}, {"gone", "x"}};
  const Json now = {{"changed", 5}, {"same", 1}, {"new", Json::array({1, 2})}};
  EXPECT_EQ(differences(before, now),
            "changed was 4 and is now 5; new was absent and is now [1,2]; gone was \"x\" and is now absent");
  EXPECT_EQ(differences(before, before), "");
}

TEST(Json, ManyMembersAreAppendedAndComparedInLinearTime) {
  constexpr int kMembers = 200'000;  // with a search among all members for each, this takes minutes
  Json object = Json::object();
  for (int i = 0; i < kMembers; ++i) append_member(object, std::to_string(i), i);
  EXPECT_EQ(object.size(), kMembers);
  EXPECT_EQ(object["4711"], 4711);
  EXPECT_EQ(object.begin().key(), "0");
  Json other = object;
  other["17"] = "changed";
  EXPECT_EQ(differences(object, other), "17 was 17 and is now \"changed\"");
}

TEST(Json, OneLineReplacesWhatIsNotUtf8) {
  EXPECT_EQ(one_line({{"path", "a\xff\n"}}), "{\"path\":\"a\xef\xbf\xbd\\n\"}");
}

}  // namespace
}  // namespace dragoman::core

#include "program.h"

#include <gmock/gmock.h>

#include <dragoman/core/json.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;

class AlignTest : public ::testing::Test {
 protected:
  AlignTest() {
    std::ofstream(folder_ / "s.de") << "Zwei Hunde spielen im Schnee.\n\nEin Mann schläft.\n";
    std::ofstream(folder_ / "t.en") << "Two dogs play in the snow.\n\nA man is sleeping.\n";
    std::ofstream(folder_ / "pairs.tsv") << "1\tTwo dogs play in the snow.\tZwei Hunde spielen im Schnee.\n"
                                            "2\t\t\n"
                                            "3\tA man is sleeping.\tEin Mann schläft.\n";
    std::ofstream(folder_ / "pairs.jsonl")
        << R"({"de": "Zwei Hunde spielen im Schnee.", "en": "Two dogs play in the snow."})"
           "\n"
           R"({"en": "", "de": ""})"
           "\n"
           R"({"de": "Ein Mann schläft.", "en": "A man is sleeping."})"
           "\n";
  }
  Outcome align(const std::string& arguments) const {
    return run_dragoman(folder_.path(),
                        "align --quiet --model '" DRAGOMAN_SOURCE_DIR "/examples/multi30k/model' " + arguments);
  }

  TemporaryFolder folder_;
};

TEST_F(AlignTest, AlignsWhatPeopleWouldAlign) {
  const Outcome outcome = align("s.de t.en --layer 1");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  std::istringstream lines(outcome.output);
  std::string dogs, nothing, man;
  std::getline(lines, dogs), std::getline(lines, nothing), std::getline(lines, man);
  for (const char* link : {"0-0", "1-1", "2-2", "4-5"}) EXPECT_THAT(dogs, HasSubstr(link));
  EXPECT_EQ(nothing, "");
  for (const char* link : {"1-1", "2-3"}) EXPECT_THAT(man, HasSubstr(link));
}

TEST_F(AlignTest, ReadsPairsOfEveryFormat) {
  const Outcome text = align("s.de t.en");
  EXPECT_EQ(align("pairs.tsv --input-format tsv --source-column 3 --target-column 2").output, text.output);
  EXPECT_EQ(align("pairs.jsonl --input-format jsonl --source-key de --target-key en").output, text.output);
  EXPECT_THAT(align("pairs.tsv --input-format tsv --source-column 4").error,
              HasSubstr("pairs.tsv: line 1: 3 columns, but column 4"));
  EXPECT_THAT(align("pairs.jsonl --input-format jsonl").error, HasSubstr("pairs.jsonl: line 1: no text under the key"));
  EXPECT_THAT(align("s.de --input-format jsonl").error, HasSubstr("s.de: line 1: not a JSON object"));
  EXPECT_THAT(align("s.de").error, HasSubstr("target lines"));
  EXPECT_THAT(align("s.de t.en --input-format tsv").error, HasSubstr("one file"));
}

TEST_F(AlignTest, JsonHasTheLinksOfThePharaohLine) {
  const Outcome text = align("s.de t.en");
  std::istringstream lines(align("s.de t.en --format jsonl").output);
  std::string joined;
  for (std::string line; std::getline(lines, line);) {
    const core::Json json = core::Json::parse(line);
    std::string links;
    for (const core::Json& link : json["alignment"]) {
      links += (links.empty() ? "" : " ") + link[0].dump() + "-" + link[1].dump();
      EXPECT_EQ(link[2], json["weights"][link[1].get<std::size_t>()][link[0].get<std::size_t>()]);
    }
    EXPECT_EQ(json["weights"].size(), json["source"].empty() ? 0 : json["target"].size());
    joined += links + "\n";
  }
  EXPECT_EQ(joined, text.output);
}

}  // namespace
}  // namespace dragoman::testing

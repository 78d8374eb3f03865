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
                        "align --quiet --model '" + in_source("examples/multi30k/model") + "' " + arguments);
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
  EXPECT_THAT(align("s.de --input-format jsonl").error, HasSubstr("s.de: line 1: not valid JSON"));
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

/// From pairs to a list to translations, as docs/guides/alignment.md has it.
TEST_F(AlignTest, AlignmentsMakeAShortlistThatTranslates) {
  const std::string model = " --quiet --model '" + in_source("examples/multi30k/model") + "' ";
  EXPECT_EQ(align("s.de t.en --layer 1 --output words").status, 0);
  EXPECT_EQ(align("s.de t.en --layer 1 --units pieces --output pieces").status, 0);
  const Outcome words = run_dragoman(folder_.path(), "shortlist" + model + "s.de t.en --alignments words");
  EXPECT_EQ(words.status, 0) << words.error;
  EXPECT_THAT(words.output, HasSubstr("dogs "));
  EXPECT_THAT(words.output, HasSubstr(" NULL "));
  const Outcome pieces =
      run_dragoman(folder_.path(), "shortlist" + model + "s.de t.en -a pieces --units pieces --best 3 -o lex.s2t.gz");
  EXPECT_EQ(pieces.status, 0) << pieces.error;
  const auto translate = [&](const std::string& options) {
    return run_dragoman(folder_.path(), "translate" + model + "s.de " + options);
  };
  EXPECT_EQ(translate("--shortlist lex.s2t.gz --shortlist-first 4000").status, 0);
  const std::string listed = translate("--shortlist lex.s2t.gz --shortlist-first 0").output;
  EXPECT_EQ(translate("--shortlist lex.s2t.gz --shortlist-first 0 --threads 1 --rows 1").output, listed);
  EXPECT_THAT(translate("--shortlist-first 3").error, HasSubstr("--shortlist-first: needs a --shortlist"));
  EXPECT_THAT(translate("--shortlist words").error, HasSubstr("words: line 1 has not three fields"));
  const Outcome into = run_dragoman(
      folder_.path(), "shortlist" + model + "s.de t.en -a pieces --units pieces --best 3 --first 0 --into listed");
  EXPECT_EQ(into.status, 0) << into.error;
  std::ofstream(folder_ / "other.de") << "Eine Frau fährt auf einem roten Fahrrad.\n";
  const auto by = [&](const std::string& name, const std::string& options) {
    const Outcome outcome =
        run_dragoman(folder_.path(), "translate --quiet --model '" + name + "' other.de " + options);
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    return outcome.output;
  };
  const std::string plain = in_source("examples/multi30k/model");
  const std::string few = "--shortlist lex.s2t.gz --shortlist-first 0";
  ASSERT_NE(by(plain, few), by(plain, ""));
  EXPECT_EQ(by("listed", ""), by(plain, few)) << "the model's own";
  EXPECT_EQ(by("listed", "--compute int8"), by(plain, "--compute int8 " + few));
  EXPECT_EQ(by("listed", "--shortlist none"), by(plain, ""));
  EXPECT_EQ(by("listed", "--shortlist lex.s2t.gz --shortlist-first 4000"),
            by(plain, "--shortlist lex.s2t.gz --shortlist-first 4000"));
  EXPECT_EQ(by("listed", "--ensemble listed"), by(plain, "--ensemble listed")) << "models together have none";
  EXPECT_EQ(run_dragoman(folder_.path(), "quantize --quiet listed --type int8 --output small").status, 0);
  EXPECT_EQ(by("small", ""), by("listed", "--compute int8"));
  std::filesystem::remove(folder_ / "small" / "shortlist.bin");
  EXPECT_THAT(run_dragoman(folder_.path(), "translate --quiet --model small s.de").error,
              HasSubstr("config.json: decoding names shortlist.bin, which the folder lacks"));
  const std::string count = "shortlist" + model + "s.de t.en -a pieces --units pieces ";
  EXPECT_THAT(run_dragoman(folder_.path(), count + "--into s.de").error, HasSubstr("s.de"));
  EXPECT_THAT(run_dragoman(folder_.path(), count + "--first 3").error, HasSubstr("--first belongs to --into"));
  EXPECT_THAT(run_dragoman(folder_.path(), count + "--into new -o lex").error, HasSubstr("two places"));
  EXPECT_THAT(translate("--unknown-dictionary words").error,
              HasSubstr("--unknown-dictionary: needs --replace-unknown"));
  EXPECT_THAT(run_dragoman(folder_.path(), "shortlist" + model + "s.de t.en -a pieces").error,
              HasSubstr("pieces: line 3: the link"));
  std::ofstream(folder_ / "short") << "0-0\n";
  EXPECT_THAT(run_dragoman(folder_.path(), "shortlist" + model + "s.de t.en -a short").error,
              HasSubstr("short ends after 1 lines"));
}

}  // namespace
}  // namespace dragoman::testing

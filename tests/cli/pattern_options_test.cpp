#include "program.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;

class PatternOptionsTest : public ::testing::Test {
 protected:
  PatternOptionsTest() {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "mail a@b.org about camelCase 1999 <x id=1>\n";
    write("text.txt", text);
    write("codes", "#version: 0.2\nt h\nth e</w>\n");
  }
  void write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  Outcome run(const std::string& arguments) { return run_dragoman(folder_.path(), arguments); }
  void expect_complaint(const std::string& arguments, int status, const std::string& part) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, status) << arguments << "\n" << outcome.error;
    EXPECT_THAT(outcome.error, HasSubstr(part)) << arguments;
    EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
  }
  static constexpr const char* kLearn = "learn-bpe --quiet --input text.txt --vocab-size 320 ";

  TemporaryFolder folder_;
};

TEST_F(PatternOptionsTest, ProtectedPatternsAreLearnedInspectedAndObeyed) {
  write("patterns", "<x id=\\d+>\r\n\n\\S+@\\S+\n");
  const Outcome learned = run(std::string(kLearn) + "--protect '\\d+' --protect-file patterns --split-case -o t.json");
  ASSERT_EQ(learned.status, 0) << learned.error;
  write("line", "about 1999 <x id=1> camelCase\n");
  EXPECT_EQ(run("encode --quiet -t t.json -i line").output,
            "\u2581about \u2581 1 9 9 9 \u2581 < x \u2581 i d = 1 > \u2581camel Case\n");
  run("encode --quiet -t t.json -i text.txt --format ids -o ids");
  EXPECT_EQ(run("decode --quiet -t t.json -i ids --format ids").output, file_content(folder_ / "text.txt"));
  EXPECT_THAT(run("inspect t.json").output, ::testing::AllOf(HasSubstr("protected"), HasSubstr("upper case")));
  EXPECT_THAT(run("inspect t.json --json").output, HasSubstr("\"split_case\": true"));
  EXPECT_EQ(run("verify --quiet t.json t.json text.txt").output, "0 of 40 lines differ\n");
  EXPECT_EQ(run("convert --quiet t.json --output again.json").status, 0);
  EXPECT_EQ(file_content(folder_ / "again.json"), file_content(folder_ / "t.json"));
  expect_complaint("convert t.json --output t.model", 1, "protected pattern");
  expect_complaint("convert t.json --output t.codes", 1, "protected pattern");
}

TEST_F(PatternOptionsTest, TheWorkedExampleOfTheLiteratureIsACommand) {
  write("example", "abababcd\n");
  const std::string learn = "learn-bpe --quiet --input example --no-byte-fallback --no-word-marks --vocab-size 5 ";
  const Outcome learned = run(learn + "--no-special -o t.json");
  ASSERT_EQ(learned.status, 0) << learned.error;
  EXPECT_EQ(learned.error, "") << "nobody has to be warned of what was asked for";
  EXPECT_EQ(run("encode --quiet -t t.json -i example").output, "ab ab ab c d\n");
  EXPECT_EQ(run("encode --quiet -t t.json -i example --format ids").output, "4 4 4 2 3\n");
  EXPECT_THAT(run("inspect t.json").output,
              ::testing::AllOf(HasSubstr("special tokens          none"), HasSubstr("stand between spaces, which")));
  expect_complaint("convert t.json --output t.model", 1, "words without marks");
  expect_complaint(learn + "--no-special --special '<s>' -o t.json", 2, "--special");
  expect_complaint(learn + "--min-word-count 2 -o t.json", 1, "--min-word-count");
  expect_complaint("learn-bpe --quiet --counts example --no-word-marks --vocab-size 300 -o t.json", 1, "--input");
}

TEST_F(PatternOptionsTest, SpacesAreApartBesideOtherProtectedPatterns) {
  ASSERT_EQ(run(std::string(kLearn) + "--no-word-marks --protect '<x id=\\d+>' 1999 -o t.json").status, 0);
  write("line", "mail  mail <x id=1>\n");
  EXPECT_EQ(run("encode --quiet -t t.json -i line").output, "mail \u2581 \u2581 mail \u2581 < x \u2581 i d = 1 >\n");
  EXPECT_THAT(run("inspect t.json").output,
              ::testing::AllOf(HasSubstr("stand between spaces, which"), HasSubstr("protected"), HasSubstr("1999")));
}

TEST_F(PatternOptionsTest, BadPatternsAreNamedWithTheirPlace) {
  const std::string learn = std::string(kLearn) + "-o t.json ";
  expect_complaint(learn + "--protect 'ok' 'a(b'", 1, "the pattern 'a(b' at offset 1");
  expect_complaint(learn + "--protect '\\d*'", 1, "empty text");
  expect_complaint(learn + "--split-case --lowercase", 1, "lower-cased");
  write("patterns", "a\n[b\n");
  expect_complaint(learn + "--protect-file patterns", 1, "patterns: line 2: the pattern '[b' at offset 0");
  expect_complaint(learn + "--protect-file nowhere", 1, "nowhere");
  run("count-words --quiet --input text.txt --output counts");
  expect_complaint("learn-bpe --quiet --counts counts --vocab-size 320 --protect '<x id=1>' -o t.json", 1, "--input");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "t.json"));
}

TEST_F(PatternOptionsTest, TheGlossaryOfCodesWasRemoved) {
  for (const std::string command :
       {"encode -t codes -i text.txt", "decode -t codes -i text.txt", "convert codes --output t.json",
        "verify codes codes text.txt", "vocab truncate codes --size 4 --output t.json"})
    expect_complaint(command + " --glossary '<x'", 2, "--glossary was removed in this release: `subword-nmt apply-bpe");
}

}  // namespace
}  // namespace dragoman::testing

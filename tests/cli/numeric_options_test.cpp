#include "program.h"

#include <initializer_list>

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;

/// A numeric option of a command, and which of the values below it takes; the program must refuse all others.
struct NumericOption {
  const char* command;  ///< with all that it needs but the option
  const char* option;
  std::initializer_list<const char*> takes;
};

constexpr const char* kMost32 = "2147483648";              // 2^31
constexpr const char* kMost64 = "9223372036854775808";     // 2^63
constexpr const char* kTooLarge = "18446744073709551616";  // 2^64
constexpr const char* kHostile[] = {"",        "''",  "' '", "0",    "-1",    kMost32,  kMost64, "-9223372036854775809",
                                    kTooLarge, "NaN", "inf", "-inf", "1e400", "1e-400", "0x10",  "' 1'",
                                    "'1 '",    "1.5", "1,5", "+1",   "1e2",   "--",     "ten",   "\u0663"};

const NumericOption kOptions[] = {
    {"learn-bpe -i text -o new.json", "--vocab-size", {}},
    {"learn-bpe -i text --vocab-size 280 -o new.json", "--min-frequency", {"0", kMost32, kMost64}},
    {"learn-bpe -i text --vocab-size 280 -o new.json", "--min-word-count", {"0", kMost32, kMost64}},
    {"learn-bpe -i text --vocab-size 280 -o new.json", "--character-coverage", {}},
    {"learn-bpe -i text --vocab-size 280 -o new.json", "--threads", {"0"}},
    {"learn-bpe -i text --vocab-size 280 -o new.json", "--memory", {}},
    {"count-words -i text -o new.counts", "--min-count", {"0", kMost32, kMost64}},
    {"count-words -i text -o new.counts", "--threads", {"0"}},
    {"count-words -i text -o new.counts", "--memory", {}},
    {"encode -t t.json -i text -o new", "--threads", {"0"}},
    {"encode -t t.json -i text -o new --mode dropout", "--dropout", {"0"}},
    {"encode -t t.json -i text -o new --mode dropout", "--seed", {"0", kMost32, kMost64}},
    {"encode -t codes -i text -o new --vocabulary list", "--vocabulary-threshold", {"0", kMost32}},
    {"decode -t t.json -i pieces -o new", "--threads", {"0"}},
    {"decode -t codes -i pieces -o new --vocabulary list", "--vocabulary-threshold", {"0", kMost32}},
    {"convert codes --vocabulary list -o new.codes", "--vocabulary-threshold", {"0", kMost32}},
    {"verify t.json t.json text", "--show", {"0", kMost32, kMost64}},
    {"verify codes codes text --vocabulary list", "--vocabulary-threshold", {"0", kMost32}},
    {"vocab truncate t.json -o new.json", "--size", {}},
    {"vocab extend t.json --corpus text -o new.json", "--size", {}},
    {"vocab extend t.json --corpus text --size 285 -o new.json", "--min-frequency", {"0", kMost32, kMost64}},
    {"vocab extend t.json --corpus text --size 285 -o new.json", "--character-coverage", {}},
    {"vocab extend t.json --corpus text --size 285 -o new.json", "--threads", {"0"}},
    {"vocab prune t.json --corpus text -o new.json", "--min-count", {"0", kMost32, kMost64}},
    {"vocab prune t.json --corpus text -o new.json", "--threads", {"0"}},
    {"evaluate -i text -r text", "--width", {"0"}},
    {"evaluate -i text -r text --smooth-method floor",
     "--smooth-value",
     {"0", kMost32, kMost64, kTooLarge, "1.5", "1e2"}},
    {"evaluate -i text -r text", "--confidence", {}},
    {"evaluate -i text -r text --baseline text", "--seed", {"0", kMost32, kMost64}},
    {"score -m none --source text --target text", "--threads", {"0"}},
    {"run --pipeline none.yml", "--threads", {"0"}},
    {"inspect t.json --corpus text", "--threads", {"0"}},
    {"translate -m none -i text", "--threads", {"0"}},
    {"translate -m none -i text", "--beam-size", {}},
    {"translate -m none -i text", "--n-best", {}},
    {"translate -m none -i text",
     "--alpha",
     {"0", "-1", kMost32, kMost64, "-9223372036854775809", kTooLarge, "1.5", "1e2"}},
    {"translate -m none -i text", "--maximum-length", {"0"}},
    {"translate -m none -i text", "--minimum-length", {"0"}},
    {"translate -m none -i text", "--no-repeat-ngram", {"0"}},
    {"translate -m none -i text", "--repetition-penalty", {"1.5", "1e2"}},
    {"translate -m none -i text", "--temperature", {kMost32, kMost64, kTooLarge, "1.5", "1e2"}},
    {"translate -m none -i text", "--top-k", {"0"}},
    {"translate -m none -i text", "--top-p", {}},
    {"translate -m none -i text", "--seed", {"0", kMost32, kMost64}},
    {"translate -m none -i text", "--batch-tokens", {"0", kMost32}},
    {"translate -m none -i text", "--rows", {"0", kMost32}},
};

class NumericOptionsTest : public ::testing::Test {
 protected:
  NumericOptionsTest() {
    write("text", "low low lower lowest\nnew newer 12 123\n");
    write("codes", "#version: 0.2\nl o\nlo w\nw e\n");
    write("list", "low 3\nlo@@ 2\n");
    EXPECT_EQ(run("learn-bpe --quiet -i text --vocab-size 280 -o t.json").status, 0);
    EXPECT_EQ(run("encode --quiet -t t.json -i text -o pieces").status, 0);
  }
  void write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  /// Whoever would take longer hangs.
  Outcome run(const std::string& arguments) {
    const std::string command = "cd '" + folder_.path().string() + "' && timeout 60 '" + built("program") + "' " +
                                arguments + " 2>stderr.txt >stdout.txt";
    const int result = std::system(command.c_str());
    return {WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result), file_content(folder_ / "stdout.txt"),
            file_content(folder_ / "stderr.txt")};
  }

  TemporaryFolder folder_;
};

TEST_F(NumericOptionsTest, HostileNumbersAreUsageErrorsThatNameTheOption) {
  for (const NumericOption& option : kOptions)
    for (const std::string value : kHostile) {
      const std::string arguments = std::string(option.command) + " " + option.option + "=" + value;
      std::filesystem::remove(folder_ / "new.json");
      const Outcome outcome = run(arguments);
      SCOPED_TRACE(arguments + "\n" + outcome.error.substr(0, 1000));
      if (std::find(option.takes.begin(), option.takes.end(), value) != option.takes.end()) {
        EXPECT_THAT(outcome.status, ::testing::AnyOf(0, 1)) << "done, or an error that is not of the number's form";
        continue;
      }
      EXPECT_EQ(outcome.status, 2);
      EXPECT_THAT(outcome.error, HasSubstr(option.option));
      EXPECT_EQ(outcome.output, "");
      EXPECT_FALSE(std::filesystem::exists(folder_ / "new.json"));
    }
}

TEST_F(NumericOptionsTest, AValueOfItsOwnWordIsReadInTheSameWay) {
  EXPECT_THAT(run("encode -t t.json -i text --threads -1").error, HasSubstr("--threads"));
  EXPECT_THAT(run("encode -t t.json -i text --threads ' 1'").error,
              HasSubstr("--threads ' 1': must be a whole number from 0 to"));
  EXPECT_THAT(run("encode -t t.json -i text --seed 18446744073709551616").error, HasSubstr("--seed '1844"));
  EXPECT_THAT(run("learn-bpe -i text -o x --character-coverage 0").error,
              HasSubstr("--character-coverage '0': must be a number above 0 and at most 1"));
  EXPECT_THAT(run("learn-bpe -i text -o x --vocab-size 300 0").error, HasSubstr("--vocab-size '0': must be a whole"));
}

TEST_F(NumericOptionsTest, MoreThreadsThanAnyMachineHasAreRefused) {
  for (const char* command : {"encode -t t.json -i text", "translate -m none -i text", "run --pipeline none.yml",
                              "score -m none --source text --target text", "inspect t.json --corpus text"})
    EXPECT_THAT(run(std::string(command) + " --threads 1025").error,
                HasSubstr("--threads '1025': must be a whole number from 0 to 1024"));
}

TEST_F(NumericOptionsTest, LargestValuesWork) {
  EXPECT_EQ(run("encode --quiet -t t.json -i text --mode dropout --seed 18446744073709551615").status, 0);
  EXPECT_EQ(run("encode --quiet -t t.json -i text --threads 64").status, 0);
  EXPECT_EQ(run("learn-bpe --quiet -i text -o big.json --vocab-size 2147483647").status, 0) << "pairs run out";
  EXPECT_EQ(run("learn-bpe --quiet -i text -o big.json --vocab-size 280 --memory 18446744073709551615B").status, 0);
  EXPECT_EQ(run("verify t.json t.json text --show 18446744073709551615").status, 0);
}

}  // namespace
}  // namespace dragoman::testing

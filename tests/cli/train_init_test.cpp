#include "program.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// `train --init` on letters and their translation.
class TrainInitTest : public ::testing::Test {
 protected:
  TrainInitTest() {
    write_pairs("train", 300);
    write_pairs("valid", 6);
  }

  void write_pairs(const std::string& name, int lines) const {
    std::ofstream source(folder_ / (name + ".de")), target(folder_ / (name + ".en"));
    for (int i = 0; i < lines; ++i) {
      source << "eins zwei " << i << " drei\n";
      target << "one two " << i << " three\n";
    }
  }

  Outcome run(const std::string& arguments) const { return run_dragoman(folder_.path(), arguments); }
  Outcome must(const std::string& arguments) const {
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << "\n" << outcome.error;
    return outcome;
  }
  /// What follows `dragoman ` in the lines of the output that are commands.
  static std::vector<std::string> commands(const std::string& output) {
    std::vector<std::string> found;
    std::istringstream lines(output);
    const std::string begin = "  dragoman ";
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with(begin)) found.push_back(line.substr(begin.size()));
    return found;
  }

  TemporaryFolder folder_;
  const std::string corpus_ = " --source train.de --target train.en";
  const std::string validation_ = " --validation-source valid.de --validation-target valid.en";
};

TEST_F(TrainInitTest, TheCommandsThatItPrintsTrainAModelThatTranslates) {
  for (const std::string& validation : {validation_, std::string()}) {
    const std::vector<std::string> next =
        commands(must("train --init train.yml --overwrite" + corpus_ + validation).output);
    ASSERT_EQ(next.size(), 3U);
    EXPECT_THAT(next[0], HasSubstr("learn-bpe --input train.de train.en --vocab-size "));
    must(next[0]);
    // Their number of updates is for a model that has learned something.
    must(next[1] + " --set training.updates=2 --set validation.every=2 --quiet");
    ASSERT_THAT(next[2], HasSubstr(" < FILE"));
    const Outcome translated = must(next[2].substr(0, next[2].find(" < FILE")) + " --decoder greedy < valid.de");
    EXPECT_EQ(std::ranges::count(translated.output, '\n'), 6);
    std::filesystem::remove_all(folder_ / "run");
  }
}

TEST_F(TrainInitTest, TheFileExplainsItsChoicesAndNamesTheCommands) {
  must("train --init train.yml" + corpus_ + validation_);
  const std::string text = file_content(folder_ / "train.yml");
  EXPECT_THAT(text, AllOf(StartsWith("# Written by `dragoman train --init`."), HasSubstr("for 300 sentence pairs"),
                          HasSubstr("#   dragoman learn-bpe "), HasSubstr("#   dragoman train train.yml\n"),
                          HasSubstr("#   dragoman translate --model run/best")));
  const Outcome dump = must("train train.yml --dump-config");
  EXPECT_THAT(dump.output,
              AllOf(HasSubstr("source: train.de"), HasSubstr("target: valid.en"), HasSubstr("patience: 5")));
}

/// A name that a shell would split, and one that would end the comment with the commands.
TEST_F(TrainInitTest, CommandsQuoteTheNamesOfFiles) {
  for (const std::string name : {"it's a text", "a\nb: c"}) {
    std::filesystem::copy_file(folder_ / "train.de", folder_ / name);
    std::string quoted = "'";
    for (const char c : name) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    quoted += "'";
    const Outcome outcome = must("train --init train.yml --overwrite --target train.en --source " + quoted);
    EXPECT_THAT(outcome.output, HasSubstr("learn-bpe --input " + quoted + " train.en "));
    must("train train.yml --dump-config");
  }
}

TEST_F(TrainInitTest, ReadsCompressedFiles) {
  for (const char* file : {"train.de", "train.en"})
    ASSERT_EQ(std::system(("gzip -k '" + (folder_ / file).string() + "'").c_str()), 0);
  must("train --init plain.yml" + corpus_);
  must("train --init packed.yml --source train.de.gz --target train.en.gz");
  std::string packed = file_content(folder_ / "packed.yml");
  for (std::size_t at = 0; (at = packed.find(".gz")) != std::string::npos;) packed.erase(at, 3);
  for (std::size_t at = 0; (at = packed.find("packed.yml")) != std::string::npos;) packed.replace(at, 10, "plain.yml");
  EXPECT_EQ(packed, file_content(folder_ / "plain.yml"));
}

TEST_F(TrainInitTest, AFileThatExistsIsReplacedOnRequestOnly) {
  std::ofstream(folder_ / "train.yml") << "mine";
  const Outcome refused = run("train --init train.yml" + corpus_);
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.error, AllOf(HasSubstr("train.yml: exists already"), HasSubstr("--overwrite")));
  EXPECT_EQ(file_content(folder_ / "train.yml"), "mine");
  must("train --init train.yml --overwrite" + corpus_);
  EXPECT_THAT(file_content(folder_ / "train.yml"), StartsWith("# Written by"));
  const Outcome input = run("train --init train.de --overwrite" + corpus_);
  EXPECT_EQ(input.status, 2) << input.error;
  EXPECT_THAT(input.error, HasSubstr("--init train.de: is the input"));
  EXPECT_THAT(file_content(folder_ / "train.de"), StartsWith("eins"));
}

TEST_F(TrainInitTest, FilesThatCannotBeTrainedOnLeaveNoConfiguration) {
  write_pairs("short", 5);
  std::ofstream(folder_ / "empty");
  for (const auto& [arguments, message] :
       {std::pair<std::string, std::string>{" --source train.de --target nowhere.en", "nowhere.en: cannot open"},
        {" --source train.de --target short.en", "train.de has 300 lines, but short.en has 5"},
        {" --source empty --target empty", "no line has text on both sides"},
        {corpus_ + " --validation-source valid.de --validation-target nowhere.en", "nowhere.en: cannot open"},
        {corpus_ + " --validation-source valid.de --validation-target short.en", "valid.de has 6 lines"}}) {
    const Outcome outcome = run("train --init train.yml" + arguments);
    EXPECT_EQ(outcome.status, 1) << arguments;
    EXPECT_THAT(outcome.error, HasSubstr(message)) << arguments;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "train.yml")) << arguments;
  }
}

TEST_F(TrainInitTest, OptionsThatDoNotBelongTogetherAreWrongUsage) {
  for (const auto& [arguments, message] :
       {std::pair<std::string, std::string>{"--init train.yml --source train.de", "--target FILE"},
        {"--init train.yml" + corpus_ + " --validation-source valid.de", "--validation-target"},
        {"--init train.yml --resume" + corpus_, "leave out --set, --resume"},
        {"--init train.yml --set training.seed=2" + corpus_, "leave out --set, --resume"},
        {"train.yml" + corpus_, "need --init"},
        {"train.yml --overwrite", "need --init"},
        {"--init" + corpus_, "'config' is required"}}) {
    const Outcome outcome = run("train " + arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_THAT(outcome.error, HasSubstr(message)) << arguments;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "train.yml"));
}

TEST_F(TrainInitTest, ADashWritesTheConfigurationToStandardOutputAlone) {
  const Outcome outcome = must("train --init -" + corpus_);
  EXPECT_THAT(outcome.output, AllOf(StartsWith("# Written by"), Not(HasSubstr("Next:"))));
}

}  // namespace
}  // namespace dragoman::testing

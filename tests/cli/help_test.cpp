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

class HelpTest : public ::testing::Test {
 protected:
  Outcome run(const std::string& arguments) { return run_dragoman(folder_.path(), arguments); }

  /// The first words of the lines that list commands.
  std::vector<std::string> commands() {
    std::vector<std::string> names;
    std::istringstream lines(run("--help").output);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string name;
      if (line.starts_with("  ") && words >> name) names.push_back(name);
    }
    return names;
  }

  TemporaryFolder folder_;
};

TEST_F(HelpTest, EveryCommandHasExamplesAndIsExplainedEitherWay) {
  const auto names = commands();
  ASSERT_GE(names.size(), 17U);
  for (const std::string& name : names) {
    const Outcome help = run("help " + name);
    EXPECT_EQ(help.status, 0);
    EXPECT_EQ(help.output, run(name + " --help").output);
    EXPECT_THAT(help.output, AllOf(StartsWith("Usage: dragoman " + name), HasSubstr("Examples:\n  "),
                                   HasSubstr("--quiet"), Not(HasSubstr("Options:\n\n"))));
  }
}

TEST_F(HelpTest, OptionsOfASearchStandInGroups) {
  EXPECT_THAT(run("help translate").output,
              AllOf(HasSubstr("\nFiles:\n"), HasSubstr("\nSearch:\n"), HasSubstr("\nMachine:\n"),
                    HasSubstr("\nGeneral:\n"), HasSubstr("--patience"), HasSubstr("--suppress-unknown")));
}

TEST_F(HelpTest, WhatIsMisspeltGetsASuggestion) {
  EXPECT_THAT(run("translate --beem-size 4").error, HasSubstr("did you mean '--beam-size'?"));
  EXPECT_THAT(run("encode --tokeniser t.json").error, HasSubstr("did you mean '--tokenizer'?"));
  EXPECT_EQ(run("encode --tokeniser t.json").status, 2);
  EXPECT_THAT(run("help trian").error, HasSubstr("did you mean 'train'?"));
  EXPECT_EQ(run("decode one two").status, 2) << "one input is read";
}

/// docs/reference/commands.md is written by `dragoman reference`.
TEST_F(HelpTest, ThePageOfCommandsIsUpToDate) {
  const Outcome page = run("reference");
  ASSERT_EQ(page.status, 0) << page.error;
  EXPECT_EQ(page.output, file_content(in_source("docs/reference/commands.md")))
      << "write it anew: build/release/dragoman reference > docs/reference/commands.md";
}

/// What bash makes of its completions: it is on every machine that builds Dragoman.
TEST_F(HelpTest, TheValueOfAnOptionWithoutAnArgumentIsNoDefault) {
  EXPECT_THAT(run("reference").output, HasSubstr("| `--confidence [=N]` |  | "));
}

TEST_F(HelpTest, BashCompletesCommandsAndOptions) {
  std::ofstream(folder_ / "completions") << run("reference --format bash").output;
  const auto completed = [&](const std::string& words, int place) {
    const std::string script = "source completions; COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(place) +
                               "; _dragoman; echo \"${COMPREPLY[@]}\" > replies";
    EXPECT_EQ(std::system(("cd '" + folder_.path().string() + "' && bash -c '" + script + "'").c_str()), 0);
    return file_content(folder_ / "replies");
  };
  EXPECT_EQ(completed("dragoman tra", 1), "train translate\n");
  EXPECT_EQ(completed("dragoman translate --beam-s", 2), "--beam-size\n");
  EXPECT_EQ(completed("dragoman help insp", 2), "inspect\n");
  EXPECT_EQ(completed("dragoman translate news", 2), "\n") << "a file, which bash completes by itself";
}

TEST_F(HelpTest, OtherFormatsNameEveryCommandAndOnlyKnownOnesExist) {
  for (const std::string format : {"man", "zsh", "fish"}) {
    const Outcome page = run("reference --format " + format);
    EXPECT_EQ(page.status, 0);
    for (const std::string& name : commands())
      EXPECT_THAT(page.output, HasSubstr(format == "man" ? name.substr(0, 4) : name));
  }
  EXPECT_EQ(run("reference --format pdf").status, 2);
}

}  // namespace
}  // namespace dragoman::testing

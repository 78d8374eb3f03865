#include "program.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Whoever calls the program may have closed its standard streams, filled them up, or gone away from them.
class StandardStreamsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder();
    const std::filesystem::path model = source_folder() / "examples/multi30k/model";
    std::filesystem::create_symlink(model, *folder_ / "model");
    std::ofstream(*folder_ / "few.txt") << "Ein Hund läuft.\nZwei Kinder spielen im Schnee.\n";
    std::ofstream many(*folder_ / "many.txt");
    for (int i = 0; i < 20000; ++i) many << "Ein Hund läuft über die Wiese, zum " << i << ". Mal.\n";
    std::ofstream(*folder_ / "same.en") << "A dog runs.\nTwo children play in the snow.\n";
    std::ofstream(*folder_ / "run.yml") << "stages:\n  - read: {path: few.txt}\n  - translate: {model: model}\n"
                                           "  - write: {path: \"-\"}\n";
  }
  static void TearDownTestSuite() { delete folder_; }

  /// Runs a line of bash in the folder, with $D for the program, for at most 30 seconds.
  static Outcome shell(const std::string& line) {
    std::ofstream(*folder_ / "line.sh") << "D='" + built("program") + "'\n" << line << "\n";
    const std::string command =
        "cd '" + folder_->path().string() + "' && timeout 30 bash line.sh >stdout.txt 2>stderr.txt </dev/null";
    const int result = std::system(command.c_str());
    return {WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result), content("stdout.txt"),
            content("stderr.txt")};
  }
  static std::string content(const std::string& name) { return file_content(*folder_ / name); }
  static std::size_t lines_in(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  /// One of each kind of command that prints or writes to standard output.
  inline static const std::vector<std::string> kPrinting = {
      "$D --help",
      "$D --version",
      "$D encode --help",
      "$D doctor",
      "$D plugins list",
      "$D plugins check --help",
      "$D inspect model",
      "$D inspect model/tokenizer.json --json",
      "$D verify model/tokenizer.json model/tokenizer.json --corpus few.txt",
      "$D evaluate --hypothesis same.en --reference same.en",
      "$D encode -t model/tokenizer.json -i few.txt",
      "echo 5 6 | $D decode -t model/tokenizer.json --format ids",
      "$D translate -q -m model -i few.txt",
      "$D run -q run.yml",
      "$D score -q -m model --source few.txt --target same.en",
      "$D train --config ../x --help",
  };

  static TemporaryFolder* folder_;
};
TemporaryFolder* StandardStreamsTest::folder_ = nullptr;

TEST_F(StandardStreamsTest, LostOutputIsNeverUnnoticed) {
  for (const std::string& command : kPrinting) {
    ASSERT_EQ(shell(command).status, 0) << command << "\n" << content("stderr.txt");
    for (const std::string where : {">/dev/full", ">&-"}) {
      const Outcome outcome = shell(command + " " + where);
      EXPECT_EQ(outcome.status, 1) << command << " " << where;
      EXPECT_THAT(outcome.error, HasSubstr("standard output: cannot write")) << command << " " << where;
      EXPECT_EQ(lines_in(outcome.error), 1U) << command << " " << where << "\n" << outcome.error;
    }
  }
}

TEST_F(StandardStreamsTest, AReaderThatHasSeenEnoughEndsTheProgramSilently) {
  for (const std::string command :
       {"$D encode -t model/tokenizer.json -i many.txt", "yes Hallo. | $D encode -t model/tokenizer.json",
        "yes 5 6 7 | $D decode -t model/tokenizer.json --format ids", "yes Hallo. | $D translate -q -m model"}) {
    const Outcome outcome =
        shell("rm -f status.txt; set -o pipefail; { " + command + "; echo $? >status.txt; } | head -1");
    EXPECT_EQ(content("status.txt"), "141\n") << command;
    EXPECT_EQ(lines_in(outcome.output), 1U) << command;
    EXPECT_EQ(outcome.error, "") << command;
  }
}

TEST_F(StandardStreamsTest, MessagesThatNobodyTakesChangeNothing) {
  const std::vector<std::pair<std::string, std::string>> commands = {
      {"$D translate -m model -i few.txt -o OUT --progress json", "out.en"},
      {"$D encode -t model/tokenizer.json -i many.txt -o OUT --progress json", "out.pieces"},
      {"$D learn-bpe -i many.txt --vocab-size 300 -o OUT --progress json", "out.json"},
      {"$D count-words -i many.txt -o OUT", "out.tsv"},
  };
  const auto with_output = [](std::string command, const std::string& file) {
    return command.replace(command.find("OUT"), 3, file);
  };
  for (const auto& [command, file] : commands) {
    ASSERT_EQ(shell(with_output(command, file)).status, 0) << command << content("stderr.txt");
    const std::string expected = content(file);
    for (const std::string where : {" 2>/dev/full", " 2>&-", " 2> >(true)", " 2>&- >&- <&-"}) {
      const Outcome outcome = shell(with_output(command, "again") + where);
      EXPECT_EQ(outcome.status, 0) << command << where << outcome.error;
      EXPECT_EQ(content("again"), expected) << command << where;
    }
  }
}

TEST_F(StandardStreamsTest, AClosedInputIsAnErrorAndNotAnEmptyOne) {
  for (const std::string command :
       {"$D encode -t model/tokenizer.json", "$D translate -q -m model", "$D decode -t model/tokenizer.json"}) {
    const Outcome outcome = shell(command + " <&-");
    EXPECT_EQ(outcome.status, 1) << command;
    EXPECT_THAT(outcome.error, StartsWith("dragoman: standard input: cannot read")) << command;
  }
}

TEST_F(StandardStreamsTest, AMessageWithoutAPlaceToGoStillGivesTheStatus) {
  for (const std::string where : {" 2>/dev/full", " 2>&-", " 2> >(true)"}) {
    EXPECT_EQ(shell("$D encode -t no-such-file" + where).status, 1) << where;
    EXPECT_EQ(shell("$D encode --no-such-option" + where).status, 2) << where;
    EXPECT_EQ(shell("$D no-such-command" + where).status, 2) << where;
  }
}

TEST_F(StandardStreamsTest, StandardOutputByItsNameIsWrittenAndStaysWhatItIs) {
  const std::string expected = shell("$D encode -t model/tokenizer.json -i few.txt").output;
  for (const std::string name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})
    EXPECT_EQ(shell("$D encode -t model/tokenizer.json -i few.txt -o " + name + " | cat").output, expected) << name;
  EXPECT_EQ(shell("$D encode -t model/tokenizer.json -i few.txt -o /dev/stdout > redirected; cat redirected").output,
            expected);
  EXPECT_TRUE(std::filesystem::is_symlink("/dev/stdout"));
}

TEST_F(StandardStreamsTest, AnInputCalledLikeThePartialOutputIsNotTouched) {
  for (const std::string command : {"$D encode -t model/tokenizer.json", "$D translate -q -m model --overwrite"}) {
    std::filesystem::copy_file(*folder_ / "few.txt", *folder_ / "x.partial");
    for (const std::string input : {" -i x.partial", " < x.partial"}) {
      const Outcome outcome = shell(command + " -o x" + input);
      EXPECT_EQ(outcome.status, 2) << command << input;
      EXPECT_THAT(outcome.error, ::testing::ContainsRegex("has the name of the input (x.partial|on standard input)"))
          << command << input;
      EXPECT_EQ(content("x.partial"), content("few.txt")) << command << input;
    }
    std::filesystem::remove(*folder_ / "x.partial");
  }
}

TEST_F(StandardStreamsTest, CompressedNamesGetCompressedFiles) {
  const std::string expected = shell("$D encode -t model/tokenizer.json -i many.txt").output;
  EXPECT_TRUE(shell("$D encode -t model/tokenizer.json -i many.txt -o x.gz && gzip -dc x.gz").output == expected);
  EXPECT_TRUE(shell("$D encode -t model/tokenizer.json -i many.txt -o x.zst && zstd -qdc x.zst").output == expected);
}

TEST_F(StandardStreamsTest, WhatAFileSaysDoesNotTalkToTheTerminal) {
  std::ofstream(*folder_ / "evil.json") << "{\"version\": \"\\u001b]0;owned\\u0007\", \"\\u001b[2J\": 1}";
  const Outcome outcome = shell("$D encode -t evil.json -i few.txt; $D inspect evil.json; $D translate -m evil.json");
  EXPECT_THAT(outcome.error, Not(HasSubstr("\x1b")));
  EXPECT_THAT(outcome.output, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace dragoman::testing

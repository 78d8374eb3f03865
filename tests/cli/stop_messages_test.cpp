// Commands notice a stop by themselves, say what they were doing, and leave no half of a file.
#include "program.h"

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class StopMessages : public ::testing::Test {
 protected:
  StopMessages() {
    std::string lines;
    for (int i = 0; i < 100'000; ++i) lines += "Ein Hund läuft über die Straße Nummer " + std::to_string(i) + ".\n";
    std::ofstream large(folder_ / "large.de");
    for (int i = 0; i < 20; ++i) large << lines;
    std::ofstream(folder_ / "text.de") << lines;
    std::ofstream(folder_ / "text.en") << lines;
  }
  /// Sends SIGINT after `seconds` and returns the error. The program must end by itself.
  std::string error_after(const std::string& arguments, const std::string& seconds) const {
    const std::string line = "cd '" + folder_.path().string() + "' && { timeout --foreground --signal=INT " + seconds +
                             " '" + built("program") + "' " + arguments + " >out.txt 2>err.txt; }";
    [[maybe_unused]] const int status = std::system(line.c_str());
    const std::string error = file_content(folder_ / "err.txt");
    EXPECT_THAT(error, AllOf(HasSubstr("dragoman: interrupted"), Not(HasSubstr("did not stop by itself"))))
        << arguments;
    return error;
  }

  TemporaryFolder folder_;
  const std::string model_ = "'" + in_source("examples/multi30k/model") + "'";
};

TEST_F(StopMessages, DetectStopsByItselfAndLeavesNoPart) {
  EXPECT_THAT(error_after("detect large.de -o x", "0.5"), HasSubstr("interrupted while detecting languages"));
  EXPECT_FALSE(fs::exists(folder_ / "x"));
  EXPECT_FALSE(fs::exists(folder_ / "x.partial"));
}

TEST_F(StopMessages, LearnDetectorStopsByItselfAndLeavesNoPart) {
  for (const char* text : {"text.de", "large.de"}) {
    const std::string learn = std::string("learn-detector --steps 100000000 --text de=") + text;
    EXPECT_THAT(error_after(learn + " --text en=text.en -o x", "1"), HasSubstr("nothing was written"));
    EXPECT_FALSE(fs::exists(folder_ / "x.partial"));
  }
}

TEST_F(StopMessages, InspectStopsWhileItReadsEveryByte) {
  fs::copy(in_source("examples/multi30k/model"), folder_ / "m");
  // A sparse file that takes minutes to read.
  fs::resize_file(folder_ / "m/README.md", std::uintmax_t{1} << 36);
  EXPECT_THAT(error_after("inspect m --verify", "0.5"), HasSubstr("interrupted while computing checksums"));
}

TEST_F(StopMessages, InspectNamesTheFileAtAnyTime) {
  for (const char* seconds : {"0.005", "0.01", "0.02", "0.04", "0.3"}) {
    const std::string line = "cd '" + folder_.path().string() + "' && { timeout --foreground --signal=INT " + seconds +
                             " '" + built("program") + "' inspect " + model_ +
                             "/tokenizer.json --corpus large.de >out.txt 2>err.txt; }";
    [[maybe_unused]] const int status = std::system(line.c_str());
    const std::string error = file_content(folder_ / "err.txt");
    EXPECT_THAT(error, Not(HasSubstr(" of \n"))) << seconds;
    // It reads the text by then. Before, it may end without a word.
    if (std::string(seconds) == "0.3") {
      EXPECT_THAT(error, AllOf(HasSubstr("interrupted"), HasSubstr("large.de")));
    }
  }
}

TEST_F(StopMessages, TuneSaysWhatItWasDoing) {
  for (const char* file : {"text.de", "text.en"}) fs::resize_file(folder_ / file, 40'000);
  EXPECT_THAT(error_after("tune --model " + model_ + " text.de text.en -o x", "3"),
              ContainsRegex("interrupted in search [1-9] of 9; nothing was written"));
  EXPECT_FALSE(fs::exists(folder_ / "x"));
}

/// However the lines are divided among threads.
TEST_F(StopMessages, LearnBpeNamesTheFirstBadLineOfCounts) {
  for (const int lines : {1'000'000, 3'000'000, 9'000'000}) {
    std::ofstream(folder_ / "counts") << std::string(static_cast<std::size_t>(lines), '\n');
    const Outcome outcome = run_dragoman(folder_.path(), "learn-bpe --counts counts --vocab-size 300 --threads 8 -o x");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.error, HasSubstr("counts: line 1: ")) << lines;
  }
}

}  // namespace
}  // namespace dragoman::testing

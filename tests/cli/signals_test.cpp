// Every command ends within two seconds of the first signal, whatever it is doing.
#include "program.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;

/// Two, and what a busy machine adds.
constexpr double kMaxSeconds = 5;

class SignalsTest : public ::testing::Test {
 protected:
  struct End {
    int status = -1;
    double seconds = 0;  ///< from the signal to the end
    std::string error;
  };

  /// Sends SIGTERM to the command, a line of bash with $D for the program, when it has run for `seconds`.
  End terminate(const std::string& command, double seconds) const {
    std::ofstream(folder_ / "line.sh") << "D='" << built("program") << "'\n"
                                       << command << " 2>stderr.txt &\nP=$!\nsleep " << seconds
                                       << "\nS=$(date +%s%N)\nkill -TERM $P\nwait $P\n"
                                       << "echo $? $(( ($(date +%s%N) - S) / 1000000 ))\n";
    const std::string line = "cd '" + folder_.path().string() + "' && timeout 60 bash line.sh >ended.txt";
    EXPECT_EQ(std::system(line.c_str()), 0) << command;
    End end{.error = file_content(folder_ / "stderr.txt")};
    std::istringstream(file_content(folder_ / "ended.txt")) >> end.status >> end.seconds;
    end.seconds /= 1000;
    return end;
  }

  TemporaryFolder folder_;
};

/// Each of these matches would take more than ten seconds.
TEST_F(SignalsTest, EndASearchForAPattern) {
  std::ofstream(folder_ / "line") << std::string(20'000'000, 'a') << '\n';
  for (const std::string& pattern : {std::string("(?=a{0,1000}b)a"), std::string(200, 'a') + "b"}) {
    std::ofstream(folder_ / "t.json") << R"({"version": "1.0", "added_tokens": [], "normalizer": null,
      "pre_tokenizer": {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex": ")"
                                      << pattern << R"("}}, "post_processor": null, "decoder": null,
      "model": {"type": "WordLevel", "vocab": {"a": 0, "?": 1}, "unk_token": "?"}})";
    const End end = terminate("$D encode -q -t t.json -i line -o ids", 1);
    EXPECT_EQ(end.status, 130) << end.error;
    EXPECT_LT(end.seconds, kMaxSeconds) << pattern;
    EXPECT_THAT(end.error, HasSubstr("interrupted"));
  }
}

/// Each of these computations would take more than ten seconds.
TEST_F(SignalsTest, EndEvaluation) {
  std::string one, other;
  for (int i = 0; i < 300; ++i) {
    one += "w" + std::to_string(i * i % 199) + " ";
    other += "w" + std::to_string(i * i % 197) + " ";
  }
  std::ofstream hypotheses(folder_ / "hypotheses"), references(folder_ / "references");
  for (int i = 0; i < 10'000; ++i) {
    hypotheses << one << '\n';
    references << other << '\n';
  }
  hypotheses.close();
  references.close();
  for (const std::string options :
       {"--metrics ter", "--metrics ter --sentence-level", "--metrics bleu --confidence 1000000"}) {
    const End end = terminate("$D evaluate hypotheses --reference references " + options + " >scores", 1);
    EXPECT_EQ(end.status, 130) << options << end.error;
    EXPECT_LT(end.seconds, kMaxSeconds) << options;
    EXPECT_THAT(end.error, HasSubstr("interrupted while")) << options;
  }
}

/// What waits in a system call, or computes in another library, hears no stop request.
TEST_F(SignalsTest, EndACommandThatWaitsForAReader) {
  const End end = terminate("mkfifo pipe; exec 3<>pipe; exec $D reference >&3", 1);
  EXPECT_EQ(end.status, 130) << end.error;
  EXPECT_LT(end.seconds, kMaxSeconds);
  EXPECT_THAT(end.error, HasSubstr("interrupted"));
}

}  // namespace
}  // namespace dragoman::testing

// Every command ends within two seconds of the first signal, whatever it is doing.
#include "program.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;

/// The promise of docs/concepts/security.md.
constexpr double kMaxSeconds = 2;

class SignalsTest : public ::testing::Test {
 protected:
  struct End {
    int status = -1;
    double seconds = 0;  ///< from the signal to the end
    std::string error;
  };

  /// Sends SIGTERM to the command, a line of bash with $D for the program, when it has run for `seconds`. On a busy
  /// machine the end may take longer than it should, so the best of three trials counts.
  End terminate(const std::string& command, double seconds) const {
    End best = try_to_terminate(command, seconds);
    for (int trial = 1; trial < 3 && best.seconds >= kMaxSeconds; ++trial) {
      End next = try_to_terminate(command, seconds);
      if (next.seconds < best.seconds) best = std::move(next);
    }
    return best;
  }

  End try_to_terminate(const std::string& command, double seconds) const {
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

/// A run that would go on for hours saves its work and ends in time, too, if its model is small.
TEST_F(SignalsTest, EndTrainingWithACheckpoint) {
  const std::filesystem::path golden = source_folder() / "tests/training/golden/run_v1";
  for (const char* name : {"tokenizer.json", "train.source", "train.target"})
    std::filesystem::copy(golden / name, folder_ / name);
  std::ofstream(folder_ / "train.yml") << R"(
threads: 2
model: {type: transformer, d_model: 64, heads: 2, feed_forward: 128, encoder_layers: 2, decoder_layers: 2}
data:
  train: {source: train.source, target: train.target}
  validation: {source: train.source, target: train.target}
  tokenizer: tokenizer.json
training: {updates: 100000000, batch_tokens: 512, schedule: {learning_rate: 0.001, warmup: 8}}
checkpoint: {every: 100000000, keep: 2}
)";
  const auto updates = [&](const std::string& run) {
    std::vector<int> saved;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / run))
      if (const std::string name = entry.path().filename();
          name.starts_with("checkpoint-") && !name.ends_with("partial"))
        saved.push_back(std::stoi(name.substr(std::string("checkpoint-").size())));
    std::ranges::sort(saved);
    return saved;
  };
  const std::string validates =
      " --set validation.every=5 --set 'validation.metrics=[chrf]' --set validation.metric=chrf";
  const std::pair<std::string, std::string> states[] = {{"updates", " --set validation.every=0"},
                                                        {"validations", validates},
                                                        {"samples", validates + " --set validation.samples=4"}};
  for (const auto& [run, options] : states) {
    const std::string train = fmt::format("$D train --quiet --config train.yml --set output={}{}", run, options);
    const End end = terminate(fmt::format("(rm -rf {}; exec {})", run, train), 1.5);
    EXPECT_EQ(end.status, 130) << run << end.error;
    EXPECT_LT(end.seconds, kMaxSeconds) << run;
    EXPECT_THAT(end.error, HasSubstr("--resume")) << run;
    const std::vector<int> saved = updates(run);
    ASSERT_EQ(saved.size(), 1U) << run;
    // It goes on from there, and ends in the same way.
    const End again = try_to_terminate(train + " --resume", 1.5);
    EXPECT_EQ(again.status, 130) << run << again.error;
    ASSERT_FALSE(updates(run).empty()) << run;
    EXPECT_GT(updates(run).back(), saved.back()) << run;
  }
}

/// What waits in a system call, or computes in another library, hears no stop request.
TEST_F(SignalsTest, EndACommandThatWaitsForAReader) {
  const End end = terminate("mkfifo pipe; exec 3<>pipe; exec $D reference >&3", 1);
  EXPECT_EQ(end.status, 130) << end.error;
  EXPECT_LT(end.seconds, kMaxSeconds);
  EXPECT_THAT(end.error, HasSubstr("interrupted"));
}

/// A short text waits for its reader only when the command has done everything else.
TEST_F(SignalsTest, EndACommandThatWaitsToPrintItsLastWords) {
  const std::string model = "'" + (source_folder() / "examples/multi30k/model").string() + "'";
  for (const std::string& command : std::vector<std::string>{"plugins list", "doctor", "reference --format bash",
                                                             "inspect " + model, "inspect --json " + model}) {
    const End end = terminate(
        fmt::format("(rm -f pipe; mkfifo pipe; exec 3<>pipe; head -c 65536 /dev/zero >&3; exec $D {} >&3)", command),
        1);
    EXPECT_EQ(end.status, 130) << command << end.error;
    EXPECT_LT(end.seconds, kMaxSeconds) << command;
    EXPECT_THAT(end.error, HasSubstr("interrupted")) << command;
  }
}

}  // namespace
}  // namespace dragoman::testing

#include "program.h"

#include <algorithm>
#include <optional>

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A user's way from a corpus to a translation, on a language so simple that a small model learns it in seconds: each
/// word has one translation, order is kept.
class JourneyTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder();
    write_corpus("train", 600);
    write_corpus("test", 30);
    std::ofstream(*folder_ / "train.yml") << R"(
output: run
model: {type: transformer, d_model: 32, heads: 2, feed_forward: 64, encoder_layers: 1, decoder_layers: 1, dropout: 0.0}
data:
  train: {source: train.src, target: train.trg}
  validation: {source: test.src, target: test.trg}
  tokenizer: tokenizer.json
training: {updates: 250, report_every: 10, batch_tokens: 512, label_smoothing: 0.0, schedule: {type: inverse-sqrt, learning_rate: 0.005, warmup: 50}}
validation: {every: 125, samples: 1}
checkpoint: {every: 125}
)";
    must("learn-bpe --quiet --input train.src train.trg --vocab-size 330 --output tokenizer.json");
    must("train --quiet --config train.yml");
  }
  static void TearDownTestSuite() { delete folder_; }

  static void write_corpus(const std::string& name, int lines) {
    const std::vector<std::pair<std::string, std::string>> words = {
        {"eins", "one"},   {"zwei", "two"},  {"drei", "three"},  {"vier", "four"},
        {"fuenf", "five"}, {"sechs", "six"}, {"sieben", "seven"}};
    std::ofstream source(*folder_ / (name + ".src"));
    std::ofstream target(*folder_ / (name + ".trg"));
    unsigned state = name == "train" ? 1 : 77;
    for (int i = 0; i < lines; ++i) {
      const unsigned length = 1 + (state >> 20) % 5;
      for (unsigned w = 0; w < length; ++w) {
        state = state * 1664525 + 1013904223;
        const auto& [from, to] = words[(state >> 24) % words.size()];
        source << (w == 0 ? "" : " ") << from;
        target << (w == 0 ? "" : " ") << to;
      }
      source << '\n';
      target << '\n';
    }
  }
  static Outcome run(const std::string& arguments) { return run_dragoman(folder_->path(), arguments); }
  static Outcome must(const std::string& arguments) {
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << "\n" << outcome.error;
    return outcome;
  }
  static std::string content(const std::string& name) { return file_content(*folder_ / name); }
  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(JourneyTest, TheTrainedModelTranslatesAndScoresWell) {
  must("translate --quiet --model run/best --input test.src --output out --beam-size 5");
  const Outcome score = must("evaluate --hypothesis out --reference test.trg --metrics bleu,chrf --score-only");
  EXPECT_GT(std::stod(score.output), 90) << content("out");
}

TEST_F(JourneyTest, TranslationHasTheSameBytesForAnyThreadsBatchesAndDecoderRuns) {
  for (const char* decoder : {"beam", "greedy", "sampling"}) {
    const std::string base = std::string("translate --quiet --model run/best --input test.src --decoder ") + decoder;
    const std::string expected = must(base + " --threads 1").output;
    EXPECT_EQ(must(base + " --threads 3 --rows 5 --batch-tokens 7").output, expected);
    EXPECT_EQ(must(base + " --threads 2").output, expected);
  }
}

TEST_F(JourneyTest, JsonlAlternativesAndScoresAgreeWithForcedDecoding) {
  must("translate --quiet --model run/best --compute fp32 --input test.src --output out --length-penalty none");
  const Outcome scored = must("score --quiet --model run/best --source test.src --target out");
  const Outcome lines = must(
      "translate --quiet --model run/best --compute fp32 --input test.src --format jsonl --length-penalty none "
      "--n-best 2");
  double total = 0;
  std::istringstream scores(scored.output);
  std::istringstream json(lines.output);
  for (std::string score, line; std::getline(scores, score) && std::getline(json, line);) {
    const std::size_t place = line.find("\"log_probability\":");
    ASSERT_NE(place, std::string::npos);
    const double difference = std::stod(line.substr(place + 18)) - std::stod(score);
    EXPECT_NEAR(difference, 0, 2e-3) << line;
    total += std::stod(score);
  }
  EXPECT_LT(total, 0);
}

TEST_F(JourneyTest, LinesStayLinesWhateverTheyHold) {
  std::ofstream(*folder_ / "nasty", std::ios::binary) << "eins\r\n\n\xFF\xFE zwei\n"
                                                      << std::string(1 << 20, 'x') << "\n  \nlast \xF0\x9F\x98\x80";
  const Outcome outcome = must("translate --model run/best --input nasty --decoder greedy --maximum-length 5");
  EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 6);
  EXPECT_THAT(outcome.error, HasSubstr("invalid UTF-8"));
  EXPECT_THAT(outcome.error, HasSubstr("split"));
}

TEST_F(JourneyTest, InterruptedOnASilentInputTranslateKeepsItsLinesAndResumes) {
  const std::string expected = must("translate --quiet --model run/best --input test.src").output;
  const std::string source = content("test.src");
  const std::size_t half = source.find('\n', source.size() / 2) + 1;
  BackgroundProgram program(folder_->path(), {"translate", "--quiet", "--model", "run/best", "--output", "stopped"});
  program.write(source.substr(0, half));
  const auto lines = std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(half), '\n');
  ASSERT_TRUE(eventually([&] {
    const std::string written = content("stopped.partial");
    return std::count(written.begin(), written.end(), '\n') == lines;
  })) << program.error();
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(), 130);
  EXPECT_THAT(program.error(), HasSubstr("interrupted after " + std::to_string(lines) + " lines"));
  EXPECT_THAT(program.error(), HasSubstr("stopped.partial"));
  EXPECT_FALSE(std::filesystem::exists(*folder_ / "stopped"));
  must("translate --quiet --model run/best --input test.src --output stopped --resume");
  EXPECT_EQ(content("stopped"), expected);
}

TEST_F(JourneyTest, AnInterruptionBeforeTheFirstLineNamesNoFile) {
  const std::vector<std::vector<std::string>> commands = {
      {"translate", "--model", "run/best"},
      {"score", "--model", "run/best", "--source", "-", "--target", "test.src"},
      {"encode", "--tokenizer", "run/best/tokenizer.json"}};
  for (std::vector<std::string> command : commands) {
    command.insert(command.end(), {"--quiet", "--output", "none"});
    BackgroundProgram program(folder_->path(), command);
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(*folder_ / "none.partial"); })) << program.error();
    program.signal(SIGINT);
    EXPECT_EQ(program.wait(), 130);
    EXPECT_THAT(program.error(), HasSubstr("interrupted before the first line"));
    EXPECT_THAT(program.error(), Not(HasSubstr("none.partial")));
    EXPECT_FALSE(std::filesystem::exists(*folder_ / "none.partial"));
  }
}

TEST_F(JourneyTest, AnInterruptedScoreSaysHowManyLinesItHasWritten) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "\u2581 \u2581 \u2581\n";  // more than is scored together
  std::ofstream(*folder_ / "many") << text;
  BackgroundProgram program(folder_->path(), {"score", "--quiet", "--model", "run/best", "--source", "-", "--target",
                                              "many", "--output", "scores"});
  program.write(text.substr(0, text.size() / 20 * 19));
  ASSERT_TRUE(eventually([&] { return !content("scores.partial").empty(); })) << program.error();
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(), 130);
  const std::string written = content("scores.partial");
  const auto lines = std::count(written.begin(), written.end(), '\n');
  EXPECT_THAT(program.error(), HasSubstr("interrupted after " + std::to_string(lines) + " lines"));
}

/// Of a process or thread, by its folder in /proc; none if it is gone.
std::optional<std::uint64_t> blocked_signals(const std::filesystem::path& folder) {
  std::ifstream status(folder / "status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigBlk:")) return std::stoull(line.substr(7), nullptr, 16);
  return std::nullopt;
}

/// Whether the program has blocked SIGINT, for its watcher to wait for; before that it dies of one without a word.
bool waits_for_signals(pid_t pid) {
  return (blocked_signals("/proc/" + std::to_string(pid)).value_or(0) >> (SIGINT - 1) & 1) != 0;
}

TEST_F(JourneyTest, EveryCommandThatReadsCanBeInterruptedWhileItsInputIsSilent) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"encode", "--tokenizer", "tokenizer.json"},
           {"decode", "--tokenizer", "tokenizer.json"},
           {"evaluate", "--reference", "test.trg"},
           {"learn-bpe", "--input", "-", "--output", "unfinished.json"},
           {"score", "--model", "run/best", "--source", "-", "--target", "test.trg"}}) {
    BackgroundProgram program(folder_->path(), arguments);
    program.write("\u2581\n");  // a word, and a piece
    ASSERT_TRUE(eventually([&] { return waits_for_signals(program.pid()); })) << arguments.front();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // usually long enough to be reading; right either way
    program.signal(SIGINT);
    EXPECT_EQ(program.wait(), 130) << arguments.front() << ": " << program.error();
    EXPECT_THAT(program.error(), HasSubstr("interrupted")) << arguments.front();
  }
  EXPECT_FALSE(std::filesystem::exists(*folder_ / "unfinished.json"));
}

/// A handler on a computing thread's stack would overwrite heap memory, see InterruptWatch in cli/src/program.cpp.
TEST_F(JourneyTest, NoThreadOfATrainingProgramRunsSignalHandlers) {
  BackgroundProgram program(folder_->path(), {"train", "--config", "train.yml", "--set", "output=masked-run", "--set",
                                              "training.updates=100000"});
  ASSERT_TRUE(eventually([&] { return content("masked-run/metrics.jsonl").find("loss") != std::string::npos; }))
      << program.error();
  const std::uint64_t wanted = (1ULL << (SIGINT - 1)) | (1ULL << (SIGTERM - 1));
  std::size_t threads = 0;
  std::size_t open_to_signals = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(program.pid()) + "/task")) {
    const std::optional<std::uint64_t> blocked = blocked_signals(task.path());
    if (!blocked) continue;  // it has ended meanwhile
    open_to_signals += (*blocked & wanted) == wanted ? 0 : 1;
    ++threads;
  }
  EXPECT_GE(threads, 3U) << "the main thread, the watcher and a worker";
  EXPECT_LE(open_to_signals, 1U) << "only the watcher, whose mask looks open while it waits for a signal";
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 130) << program.error();
}

TEST_F(JourneyTest, TrainingThatIsInterruptedOrKilledResumesToTheSameModel) {
  const std::vector<std::string> train = {"train", "--config", "train.yml", "--set", "output=stopped-run"};
  std::vector<std::string> resume = train;
  resume.emplace_back("--resume");
  const auto checkpoints = [] {
    std::size_t count = 0;
    if (!std::filesystem::exists(*folder_ / "stopped-run")) return count;
    for (const auto& entry : std::filesystem::directory_iterator(*folder_ / "stopped-run"))
      count += entry.path().filename().string().starts_with("checkpoint-") ? 1 : 0;
    return count;
  };
  BackgroundProgram interrupted(folder_->path(), train);
  ASSERT_TRUE(eventually([&] { return content("stopped-run/metrics.jsonl").find("loss") != std::string::npos; }))
      << interrupted.error();
  interrupted.signal(SIGINT);
  EXPECT_EQ(interrupted.wait(), 130) << interrupted.error();
  EXPECT_THAT(interrupted.error(), HasSubstr("--resume"));
  EXPECT_GE(checkpoints(), 1U);
  {
    BackgroundProgram killed(folder_->path(), resume);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    killed.signal(SIGKILL);
    killed.wait();
  }
  must("train --quiet --config train.yml --set output=stopped-run --resume");
  EXPECT_EQ(content("stopped-run/best/model.safetensors"), content("run/best/model.safetensors"));
}

TEST_F(JourneyTest, APipelineFileDoesTheSameAsTranslate) {
  std::ofstream(*folder_ / "p.yml") << "stages:\n  - read: {path: test.src}\n  - translate: {model: run/best, "
                                       "beam-size: 4}\n  - write: {path: piped}\n";
  must("run --quiet p.yml");
  EXPECT_EQ(content("piped"), must("translate --quiet --model run/best --input test.src").output);
}

TEST_F(JourneyTest, EncodeAndDecodeAreInverse) {
  must("encode --quiet --tokenizer tokenizer.json --input test.src --output ids --format ids");
  must("decode --quiet --tokenizer tokenizer.json --input ids --output back --format ids");
  EXPECT_EQ(content("back"), content("test.src"));
}

TEST_F(JourneyTest, AveragingAModelWithItselfChangesNothing) {
  must("average --output averaged run/best run/best");
  const Outcome misnamed = run("average --output averaged.safetensors run/best run/best");
  EXPECT_EQ(misnamed.status, 2);
  EXPECT_THAT(misnamed.error, HasSubstr("--output averaged.safetensors: the mean of model folders"));
  EXPECT_EQ(must("translate --quiet --model averaged --input test.src").output,
            must("translate --quiet --model run/best --input test.src").output);
}

TEST_F(JourneyTest, InspectVerifiesChecksumsAndFindsDamage) {
  EXPECT_THAT(must("inspect run/best --verify").output, HasSubstr("transformer"));
  std::filesystem::copy(*folder_ / "run/best", *folder_ / "damaged", std::filesystem::copy_options::recursive);
  {
    std::fstream weights(*folder_ / "damaged/model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
    weights.seekp(-3, std::ios::end);
    weights.put('\x55');
  }
  const Outcome outcome = run("inspect damaged --verify");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.error, HasSubstr("model.safetensors"));
}

TEST_F(JourneyTest, WeightsOfAnotherShapeAreRefusedByName) {
  std::filesystem::copy(*folder_ / "run/best", *folder_ / "reshaped", std::filesystem::copy_options::recursive);
  std::string config = content("reshaped/config.json");
  const std::size_t place = config.find("\"feed_forward\": 64");
  ASSERT_NE(place, std::string::npos) << config;
  config.replace(place, 18, "\"feed_forward\": 60");
  std::ofstream(*folder_ / "reshaped/config.json") << config;
  const Outcome outcome = run("translate --model reshaped --input test.src");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.error, HasSubstr("feed_forward"));
}

}  // namespace
}  // namespace dragoman::testing

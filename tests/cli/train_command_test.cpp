#include "program.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// `train` on numbers in German and English, with a vocabulary whose begin and end the test chooses.
class TrainCommandTest : public ::testing::Test {
 protected:
  TrainCommandTest() {
    write_numbers("train", 300);
    write_numbers("valid", 6);
  }

  void write_numbers(const std::string& name, int lines) {
    const std::pair<const char*, const char*> words[] = {
        {"eins", "one"}, {"zwei", "two"}, {"drei", "three"}, {"vier", "four"}};
    std::ofstream source(folder_ / (name + ".src"));
    std::ofstream target(folder_ / (name + ".trg"));
    unsigned state = name == "train" ? 1 : 77;
    for (int i = 0; i < lines; ++i) {
      const unsigned length = 1 + (state >> 20) % 4;
      for (unsigned w = 0; w < length; ++w) {
        state = state * 1664525 + 1013904223;
        const auto& [from, to] = words[(state >> 24) % 4];
        source << (w == 0 ? "" : " ") << from;
        target << (w == 0 ? "" : " ") << to;
      }
      source << '\n';
      target << '\n';
    }
  }

  void write_recipe(const std::string& special_tokens) const {
    std::ofstream(folder_ / "train.yml") << R"(
output: run
model: {type: transformer, d_model: 32, heads: 2, feed_forward: 64, encoder_layers: 1, decoder_layers: 1, dropout: 0.0}
data:
  train: {source: train.src, target: train.trg}
  validation: {source: valid.src, target: valid.trg}
  tokenizer: tokenizer.json
  special_tokens: )" << special_tokens << R"(
training: {updates: 4, report_every: 2, batch_tokens: 512, label_smoothing: 0.0, schedule: {type: inverse-sqrt, learning_rate: 0.005, warmup: 50}}
validation: {every: 2, samples: 2}
)";
  }

  Outcome must(const std::string& arguments) const {
    Outcome outcome = run_dragoman(folder_.path(), arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << "\n" << outcome.error;
    return outcome;
  }
  /// Lines that begin so behind their time.
  static std::ptrdiff_t lines_with(const std::string& text, const std::string& begin) {
    constexpr std::size_t kTime = std::string_view("2026-11-26 04:05:06 ").size();
    std::istringstream lines(text);
    std::ptrdiff_t count = 0;
    for (std::string line; std::getline(lines, line);) count += line.find(begin) == kTime ? 1 : 0;
    return count;
  }

  TemporaryFolder folder_;
};

TEST_F(TrainCommandTest, ShowsSamplesWithPredictionAndReference) {
  must("learn-bpe --quiet --input train.src train.trg --vocab-size 280 --output tokenizer.json");
  write_recipe("{}");
  for (const auto& [options, samples] : {std::pair{" --set output=run", 2},
                                         {" --set output=none --set validation.samples=0", 0},
                                         {" --set output=quiet --quiet", 0}}) {
    const Outcome outcome = must(std::string("train --config train.yml") + options);
    // After updates 2 and 4.
    EXPECT_EQ(lines_with(outcome.error, "source: "), 2 * samples) << options << "\n" << outcome.error;
    EXPECT_EQ(lines_with(outcome.error, "prediction: "), 2 * samples) << options;
    EXPECT_EQ(lines_with(outcome.error, "reference: "), 2 * samples) << options;
    if (samples == 0) continue;
    const std::string source = file_content(folder_ / "valid.src");
    const std::string reference = file_content(folder_ / "valid.trg");
    EXPECT_THAT(outcome.error, HasSubstr("source:     " + source.substr(0, source.find('\n') + 1)));
    EXPECT_THAT(outcome.error, HasSubstr("reference:  " + reference.substr(0, reference.find('\n') + 1)));
  }
}

/// Symbols of music as begin and end, as a text that shows every token would have them.
/// A run that was killed before its first checkpoint leaves its blocks, and the next one may be given another text.
TEST_F(TrainCommandTest, AFreshRunTakesNoBlocksOfAnEarlierStandardInput) {
  must("learn-bpe --quiet --input train.src train.trg --vocab-size 280 --output tokenizer.json");
  write_recipe("{}");
  for (const auto& [name, line] :
       {std::pair{"one.tsv", "eins zwei drei\tone two three\n"}, {"other.tsv", "vier drei vier\tfour three four\n"}}) {
    std::ofstream text(folder_ / name);
    for (int i = 0; i < 30000; ++i) text << line;
  }
  const std::string train = "train --config train.yml --quiet --set 'data.train={tsv: \"-\"}' --set data.memory=1MiB ";
  must(train + "--set output=run < one.tsv");
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "run"))
    if (entry.path().filename() != "blocks") std::filesystem::remove_all(entry.path());
  ASSERT_FALSE(std::filesystem::is_empty(folder_ / "run/blocks"));
  must(train + "--set output=run < other.tsv");
  must(train + "--set output=clean < other.tsv");
  const std::string weights = "last/model.safetensors";
  ASSERT_FALSE(file_content(folder_ / "clean" / weights).empty());
  EXPECT_TRUE(file_content(folder_ / "run" / weights) == file_content(folder_ / "clean" / weights));
  must(train + "--set output=run --set training.updates=6 --resume < /dev/null");
}

TEST_F(TrainCommandTest, VisibleSymbolsBeginAndEndSentences) {
  const std::string begin = "\U0001D106";
  const std::string end = "\U0001D107";
  must("learn-bpe --quiet --input train.src train.trg --vocab-size 280 --output tokenizer.json --special '<unk>' '" +
       begin + "' '" + end + "'");
  write_recipe("{begin: \"" + begin + "\", end: \"" + end + "\"}");
  must("train --quiet --config train.yml --set training.updates=250 --set validation.every=0");
  const std::string config = file_content(folder_ / "run/last/config.json");
  EXPECT_THAT(config, HasSubstr("\"begin\": 1,"));
  EXPECT_THAT(config, HasSubstr("\"end\": 2,"));
  EXPECT_THAT(config, HasSubstr("\"decoder_start\": 1,"));

  must("translate --quiet --model run/last --input valid.src --output out --decoder greedy");
  const std::string translations = file_content(folder_ / "out");
  EXPECT_THAT(translations, Not(HasSubstr(begin)));
  EXPECT_THAT(translations, Not(HasSubstr(end)));
  const Outcome score = must("evaluate --hypothesis out --reference valid.trg --metrics chrf --score-only");
  EXPECT_GT(std::stod(score.output), 80) << "sentences are translated, and end: " << translations;

  // In a text the symbols are text: they come back, and neither begin nor end anything.
  const std::string music = begin + " eins " + end + " zwei" + end + "\n";
  std::ofstream(folder_ / "music") << music;
  const std::string ids = must("encode --quiet --tokenizer tokenizer.json --input music --format ids").output;
  EXPECT_THAT(" " + ids, Not(::testing::ContainsRegex(" [12][ \n]")));
  std::ofstream(folder_ / "ids") << ids;
  EXPECT_EQ(must("decode --quiet --tokenizer tokenizer.json --input ids --format ids").output, music);
  EXPECT_EQ(std::ranges::count(must("translate --quiet --model run/last --input music --decoder greedy").output, '\n'),
            1);
}

TEST_F(TrainCommandTest, NamesTheMetricOfTheBestModelAndTheModelThatIsGone) {
  must("learn-bpe --quiet --input train.src train.trg --vocab-size 280 --output tokenizer.json");
  write_recipe("{}");
  // All validations are as good, so the first one's model stays the best.
  const std::string train =
      "train --config train.yml --allow-commands --set 'validation.metrics=[{name: judge, command: \"echo 5 "
      "#{hypotheses}\", better: "
      "higher}]' --set validation.metric=judge";
  EXPECT_THAT(must(train).error, HasSubstr("; best at update 2 with judge 5.0000; model: run/best\n"));
  std::filesystem::remove_all(folder_ / "run/best");
  std::filesystem::remove_all(folder_ / "run/checkpoint-2");
  const Outcome outcome = run_dragoman(folder_.path(), train + " --resume --set training.updates=6");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.error,
              AllOf(HasSubstr("run/best: is gone"), HasSubstr("after update 2; last/ has been written")));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/last/model.safetensors"));
}

TEST_F(TrainCommandTest, ProgramsOfTheConfigurationAreRunOnlyIfAllowed) {
  must("learn-bpe --quiet --input train.src train.trg --vocab-size 280 --output tokenizer.json");
  write_recipe("{}");
  const std::string train =
      "train --config train.yml --set 'validation.metrics=[{name: judge, command: \"touch proof #{hypotheses}; echo "
      "1\"}]'";
  const Outcome outcome = run_dragoman(folder_.path(), train);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.error,
              AllOf(HasSubstr("train.yml"), HasSubstr("judge: touch proof"), HasSubstr("--allow-commands")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "proof"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
  EXPECT_THAT(must(train + " --dump-config").output, HasSubstr("judge")) << "which runs nothing";
  EXPECT_FALSE(std::filesystem::exists(folder_ / "proof"));
  must(train + " --allow-commands");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "proof"));
}

TEST_F(TrainCommandTest, SaysWhyThereIsNoBestModel) {
  must("learn-bpe --quiet --input train.src train.trg --vocab-size 280 --output tokenizer.json");
  write_recipe("{}");
  const Outcome outcome = must(
      "train --config train.yml --allow-commands --set 'validation.metrics=[{name: judge, command: \"exit 3 "
      "#{hypotheses}\", better: "
      "higher}]' --set validation.metric=judge");
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("no validation gave a judge that is a number, so there is no best/"),
                                   HasSubstr("run/last")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/best"));
}

TEST_F(TrainCommandTest, AReportIsNoEndOfTheRunThatItShows) {
  must("learn-bpe --quiet --input train.src train.trg --vocab-size 280 --output tokenizer.json");
  write_recipe("{}");
  must("train --config train.yml");
  const std::string before = file_content(folder_ / "run/run.json");
  for (const char* file : {"run/run.json", "run/metrics.jsonl", "run/best/model.safetensors", "run"}) {
    const Outcome outcome = run_dragoman(folder_.path(), std::string("report run --no-attention --output ") + file);
    EXPECT_EQ(outcome.status, 2) << file;
    EXPECT_THAT(outcome.error, HasSubstr("name another output")) << file;
  }
  EXPECT_EQ(file_content(folder_ / "run/run.json"), before);
  const std::string metrics = file_content(folder_ / "run/metrics.jsonl");
  std::filesystem::create_symlink("metrics.jsonl", folder_ / "run/page.html");
  std::filesystem::create_symlink("run/page.html", folder_ / "page.html");
  for (const char* link : {"run/page.html", "page.html"}) {
    const Outcome outcome = run_dragoman(folder_.path(), std::string("report run --no-attention --output ") + link);
    EXPECT_EQ(outcome.status, 2) << link;
    EXPECT_THAT(outcome.error, HasSubstr("name another output")) << link;
    EXPECT_EQ(file_content(folder_ / "run/metrics.jsonl"), metrics) << link;
  }
  for (int i = 0; i < 2; ++i) must("report run --no-attention --output run/report.html");
}

}  // namespace
}  // namespace dragoman::testing

#include "program.h"

#include <cmath>
#include <cstdio>
#include <numeric>
#include <sstream>

#include <gmock/gmock.h>

#include <dragoman/core/json.h>

namespace dragoman::testing {
namespace {

using core::Json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kBundled = "'" + in_source("examples/multi30k/model") + "'";
constexpr const char* kTypes[] = {"fp32", "bf16", "int8"};

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class ModelCommands : public ::testing::Test {
 protected:
  ModelCommands() {
    write("s.de", sources_);
    write("t.en", targets_);
  }
  void write(const std::string& name, const std::vector<std::string>& lines) const {
    std::ofstream(folder_ / name) << joined_lines(lines);
  }
  Outcome run(const std::string& arguments) const { return run_dragoman(folder_.path(), arguments); }
  /// Its standard output; it must succeed.
  std::string output_of(const std::string& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << ": " << outcome.error;
    return outcome.output;
  }
  std::vector<Json> objects_of(const std::string& arguments) const {
    std::vector<Json> objects;
    for (const std::string& line : lines_in(output_of(arguments))) objects.push_back(Json::parse(line));
    return objects;
  }
  /// A second model with the same tokenizer.
  void make_other() const { output_of("quantize --quiet --model " + kBundled + " --output other"); }

  TemporaryFolder folder_;
  const std::vector<std::string> sources_ = {"Zwei Hunde spielen im Schnee.", "", "Ein Mann schläft.",
                                             "Eine Frau in einem roten Kleid liest ein Buch im Park.",
                                             "Ein kleiner Junge springt in einen See."};
  const std::vector<std::string> targets_ = {"Two dogs play in the snow.", "A dog.", "A man is sleeping.",
                                             "A woman in a red dress is reading a book in the park.", ""};
};

using ScoreCommand = ModelCommands;

/// Lines and their scores are the same to the byte whatever stands around them and whoever computes.
TEST_F(ScoreCommand, IsTheSameInAnyOrderBatchAndNumberOfThreadsInEveryType) {
  for (int repeat = 0; repeat < 30; ++repeat)
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      // Neighbours of all lengths, far more than go through together.
      std::ofstream(folder_ / "many.de", std::ios::app) << sources_[(i + static_cast<std::size_t>(repeat)) % 5] << "\n";
      std::ofstream(folder_ / "many.en", std::ios::app) << targets_[(i + static_cast<std::size_t>(repeat)) % 5] << "\n";
    }
  for (const std::string type : {"fp32", "bf16", "int8", "auto"}) {
    const std::string score = "score --quiet --format jsonl --model " + kBundled + " --compute " + type + " ";
    const auto expected = lines_in(output_of(score + "s.de t.en --threads 1"));
    ASSERT_EQ(expected.size(), sources_.size());
    for (const char* threads : {"1", "3"}) {
      const auto found = lines_in(output_of(score + "many.de many.en --threads " + threads));
      ASSERT_EQ(found.size(), 150U);
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found[i], expected[(i % 5 + i / 5) % 5]) << type << ", " << threads << " threads, line " << i;
    }
  }
}

/// The search and the forced pass are different code, and cached steps are others than whole passes.
TEST_F(ScoreCommand, GivesEachTokenTheProbabilityThatTheSearchGave) {
  for (const char* type : kTypes) {
    const std::string machine = " --quiet --format jsonl --model " + kBundled + " --compute " + type;
    const auto found = objects_of("translate s.de --decoder greedy --alpha 0" + machine);
    std::vector<std::string> texts;
    for (const Json& line : found) texts.push_back(line["text"].get<std::string>());
    write("found.en", texts);
    const auto scored = objects_of("score s.de found.en" + machine);
    ASSERT_EQ(scored.size(), found.size());
    for (std::size_t i = 0; i < scored.size(); ++i) {
      if (sources_[i].empty()) continue;                        // is not asked of the model
      if (found[i]["tokens"] != scored[i]["tokens"]) continue;  // another way to cut the same text
      const auto tokens = scored[i]["token_log_probabilities"].get<std::vector<double>>();
      EXPECT_EQ(tokens.size(), scored[i]["tokens"].size() + 1);
      EXPECT_NEAR(std::accumulate(tokens.begin(), tokens.end(), 0.0), scored[i]["log_probability"].get<double>(), 1e-9);
      EXPECT_NEAR(found[i]["log_probability"].get<double>(), scored[i]["log_probability"].get<double>(), 1e-3) << type;
    }
  }
}

TEST_F(ScoreCommand, OfAnEnsembleIsTheMeanOfProbabilities) {
  make_other();
  const std::string files = "s.de t.en --quiet --format jsonl --compute fp32 ";
  const auto first = objects_of("score " + files + "--model " + kBundled);
  const auto second = objects_of("score " + files + "--model other");
  const auto both = objects_of("score " + files + "--model " + kBundled + " --ensemble other --ensemble-weights 3,1");
  ASSERT_EQ(both.size(), sources_.size());
  for (std::size_t i = 0; i < both.size(); ++i)
    for (std::size_t t = 0; t < both[i]["token_log_probabilities"].size(); ++t) {
      const auto p = [&](const Json& line) { return std::exp(line["token_log_probabilities"][t].get<double>()); };
      EXPECT_NEAR(p(both[i]), 0.75 * p(first[i]) + 0.25 * p(second[i]), 1e-9);
    }
  const auto product =
      objects_of("score " + files + "--model other --ensemble other --ensemble-mean log-probability --threads 3");
  for (std::size_t i = 0; i < product.size(); ++i)
    EXPECT_NEAR(product[i]["log_probability"].get<double>(), second[i]["log_probability"].get<double>(), 1e-4);

  EXPECT_THAT(run("score s.de t.en --attention cross --format jsonl --ensemble other --model " + kBundled).error,
              HasSubstr("one model's"));
  EXPECT_THAT(run("score s.de t.en --ensemble other --ensemble-weights 1 --model " + kBundled).error,
              HasSubstr("1 weights for 2 models"));
}

using EmbedCommand = ModelCommands;

TEST_F(EmbedCommand, IsTheSameInAnyOrderAndNumberOfThreadsInEveryType) {
  std::vector<std::string> turned(sources_.rbegin(), sources_.rend());
  write("turned.de", turned);
  std::string of_fp32;
  for (const std::string type : kTypes) {
    const std::string embed = "embed --quiet --model " + kBundled + " --compute " + type + " ";
    auto expected = lines_in(output_of(embed + "s.de --threads 1"));
    const auto found = lines_in(output_of(embed + "turned.de --threads 3"));
    if (type == "fp32") of_fp32 = expected.front();
    EXPECT_EQ(expected.front() == of_fp32, type == "fp32") << type;
    std::ranges::reverse(expected);
    EXPECT_EQ(found, expected) << type;
  }
}

using EnsembleOption = ModelCommands;

TEST_F(EnsembleOption, TranslatesWithConstraintsAndSaysWhatItCannot) {
  make_other();
  const std::string translate = "translate --quiet --model " + kBundled + " --ensemble other s.de ";
  const auto plain = lines_in(output_of(translate));
  ASSERT_EQ(plain.size(), sources_.size());
  EXPECT_EQ(plain.front(), "Two dogs play in the snow.");
  EXPECT_EQ(output_of(translate + "--threads 3"), joined_lines(plain));
  for (const char* options :
       {"--constraints hounds --beam-size 2", "--constraints hounds --ensemble-mean log-probability"})
    EXPECT_THAT(lines_in(output_of(translate + options)).front(), HasSubstr("hounds"));
  std::ofstream(folder_ / "short.txt") << "NULL dogs 0.5\n";
  for (const auto& [options, message] : {std::pair{"--shortlist short.txt", "a shortlist would save nothing"},
                                         {"--attention cross --format jsonl", "shows one model and not several"},
                                         {"--ensemble absent", "absent"},
                                         {"--ensemble-weights 1,2,3,4", "4 weights for 2 models"}}) {
    const Outcome outcome = run(translate + options);
    EXPECT_NE(outcome.status, 0) << options;
    EXPECT_THAT(outcome.error, HasSubstr(message));
  }
}

/// With itself, in the files of another toolkit and as the model folder that was made of them.
TEST_F(EnsembleOption, TakesModelsOfOtherToolkitsWithTheSamePieces) {
  const std::string golden = in_source("tests/formats/golden/marian/");
  std::ofstream(folder_ / "q.txt") << "a man reads the book\ntwo dogs run\n";
  ASSERT_EQ(run("convert '" + golden + "untied' --output converted --quiet").status, 0);
  const std::string text = "translate --quiet --model '" + golden + "untied' q.txt ";
  const std::string expected = output_of(text);
  EXPECT_EQ(output_of(text + "--ensemble '" + golden + "untied'"), expected);
  EXPECT_EQ(output_of(text + "--ensemble converted"), expected);
  EXPECT_EQ(output_of("translate --quiet --model converted q.txt --ensemble '" + golden + "untied'"), expected);
  const Outcome other = run(text + "--ensemble '" + golden + "opus'");
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.error, HasSubstr("opus: the pieces of the source are other than those of"));
}

using TuneCommand = ModelCommands;

/// What it says of each setting is what `translate` and `evaluate` say.
TEST_F(TuneCommand, KeepsTheBestOfWhatItTried) {
  const std::string tune =
      "tune --quiet --model " + kBundled + " s.de t.en --alpha 0,1.4 --beam-size 1,3 --output tuned";
  const auto trials = lines_in(output_of(tune));
  ASSERT_EQ(trials.size(), 4U);
  double most = -1;
  double of_best = -1;
  for (const std::string& trial : trials) {
    double alpha = 0, bleu = 0;
    int beam = 0;
    ASSERT_EQ(std::sscanf(trial.c_str(), "beam_size %d, alpha %lf: BLEU %lf", &beam, &alpha, &bleu), 3) << trial;
    std::ofstream(folder_ / "found.en") << output_of("translate --quiet --model " + kBundled + " s.de --alpha " +
                                                     std::to_string(alpha) + " --beam-size " + std::to_string(beam));
    EXPECT_NEAR(std::stod(output_of("evaluate found.en --reference t.en --score-only --width 4")), bleu, 0.006)
        << trial;
    if (trial.find("<- best") != std::string::npos) of_best = bleu;
    most = std::max(most, bleu);
  }
  EXPECT_EQ(of_best, most);
  const Json decoding = Json::parse(output_of("inspect tuned --json"))["decoding"];
  EXPECT_TRUE(decoding.contains("alpha")) << decoding;

  EXPECT_THAT(run("tune --model " + kBundled + " s.de t.en --alpha 1,x").error, HasSubstr("--alpha"));
  EXPECT_THAT(run("tune --model " + kBundled + " s.de t.en --metric ter").error, HasSubstr("--metric"));
  std::ofstream(folder_ / "short.en") << "one\n";
  EXPECT_THAT(run("tune --model " + kBundled + " s.de short.en").error, HasSubstr("must be parallel"));
}

using TranslateCommand = ModelCommands;

TEST_F(TranslateCommand, SaysItsFiguresOfASingleLineAsWell) {
  write("one.de", {sources_[0]});
  const Outcome outcome = run("translate --progress json --model " + kBundled + " one.de");
  const auto lines = lines_in(outcome.error);
  ASSERT_FALSE(lines.empty()) << outcome.error;
  const Json figures = Json::parse(lines.back());
  EXPECT_EQ(figures["done"], 1);
  EXPECT_GE(figures["seconds"].get<double>() * 1000, figures["first_token_ms_max"].get<double>());
}

/// What can never work is said before any line is read.
TEST_F(TranslateCommand, RefusesWhatNoLineCouldHave) {
  const std::string translate = "translate --model " + kBundled + " s.de ";
  EXPECT_THAT(run(translate + "--constraints ''").error, HasSubstr("--constraints: a blank text is no term"));
  EXPECT_THAT(run(translate + "--target-prefix '</s>'").error,
              HasSubstr("--target-prefix: the target prefix holds </s>"));
  EXPECT_THAT(run(translate + "--repetition-penalty 1e-300").error, HasSubstr("repetition-penalty"));
}

TEST_F(TranslateCommand, NamesOfFoldersThatAreEmptyAreNoNames) {
  const std::string model = " --model " + kBundled;
  EXPECT_THAT(run("tune" + model + " s.de t.en --output ''").error, HasSubstr("is a variable not set?"));
  EXPECT_THAT(run("shortlist" + model + " s.de t.en -a s.de --into ''").error, HasSubstr("is a variable not set?"));
  write("none.align", std::vector<std::string>(sources_.size()));
  EXPECT_THAT(run("shortlist" + model + " s.de t.en -a none.align --into empty").error,
              HasSubstr("nothing was written"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "empty"));
}

using RerankCommand = ModelCommands;

/// Against sums of what `score` says, computed here, with the length penalty of the folder.
TEST_F(RerankCommand, SortsByTheSumOfWhatScoreSays) {
  make_other();
  output_of("translate --quiet --model " + kBundled +
            " s.de --beam-size 4 --n-best 4 --format jsonl --output lists.jsonl");
  const auto lists = [&] {
    std::vector<Json> all;
    for (const std::string& line : lines_in(file_content(folder_ / "lists.jsonl"))) all.push_back(Json::parse(line));
    return all;
  }();
  const auto ranked = objects_of("rerank --quiet --model other=2.5 --list-weight 0.5 lists.jsonl --format jsonl");
  const auto text = lines_in(output_of("rerank --quiet --model other=2.5 --list-weight 0.5 lists.jsonl"));
  ASSERT_EQ(ranked.size(), lists.size());
  ASSERT_EQ(text.size(), lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (!lists[i].contains("n_best")) {
      EXPECT_EQ(ranked[i], lists[i]);
      continue;
    }
    std::vector<std::string> same, translations;
    for (const Json& entry : lists[i]["n_best"]) {
      same.push_back(sources_[i]);
      translations.push_back(entry["translation"]);
    }
    write("one.de", same);
    write("one.en", translations);
    const auto scores =
        objects_of("score --quiet --model other one.de one.en --length-penalty fairseq --alpha 1.4 --format jsonl");
    std::vector<std::pair<double, std::string>> expected;
    for (std::size_t t = 0; t < scores.size(); ++t)
      expected.emplace_back(
          -(0.5 * lists[i]["n_best"][t]["score"].get<double>() + 2.5 * scores[t]["score"].get<double>()),
          translations[t]);
    std::ranges::stable_sort(expected, {}, [](const auto& pair) { return pair.first; });
    EXPECT_EQ(text[i], expected.front().second);
    for (std::size_t t = 0; t < expected.size(); ++t) {
      EXPECT_EQ(ranked[i]["n_best"][t]["translation"], expected[t].second);
      EXPECT_NEAR(ranked[i]["n_best"][t]["rerank_score"].get<double>(), -expected[t].first, 1e-9);
    }
  }
  EXPECT_THAT(run("rerank lists.jsonl").error, HasSubstr("--model"));
  EXPECT_THAT(run("rerank --model other s.de").error, HasSubstr("s.de: line 1"));
}

using CompareCompute = ModelCommands;

TEST_F(CompareCompute, SaysWhatEachTypeCostsEachLayer) {
  const std::string inspect = "inspect " + kBundled + " --compare-compute ";
  const Json report = Json::parse(output_of(inspect + "--input s.de --target t.en --json"))["compute_comparison"];
  EXPECT_EQ(report["reference"], "fp32");
  EXPECT_EQ(report["sentences"], 5);
  ASSERT_EQ(report["types"].size(), 2U);
  for (const Json& type : report["types"]) {
    ASSERT_EQ(type["layers"].size(), 12U);  // of both sides: embeddings, four layers, output
    EXPECT_LT(type["predictions"]["kl_divergence"].get<double>(), 0.1);
    EXPECT_GT(type["predictions"]["kl_divergence"].get<double>(), 0);
  }
  // The cross entropy is what `score` says.
  double sum = 0;
  double tokens = 0;
  for (const Json& line : objects_of("score --quiet s.de t.en --format jsonl --compute int8 --model " + kBundled)) {
    sum -= line["log_probability"].get<double>();
    tokens += static_cast<double>(line["token_log_probabilities"].size());
  }
  EXPECT_NEAR(report["types"][1]["predictions"]["cross_entropy"].get<double>(), sum / tokens, 1e-5);

  EXPECT_THAT(output_of(inspect + "--input s.de"), AllOf(HasSubstr("encoder layer 4"), HasSubstr("decoder output"),
                                                         HasSubstr("another best token"), HasSubstr("bf16")));
  EXPECT_EQ(output_of(inspect + "--json --threads 1"), output_of(inspect + "--json --threads 2"));
  for (const auto& [arguments, message] : {std::pair{std::string("inspect s.de --compare-compute"), "s.de"},
                                           {inspect + "--target t.en", "--target needs --input"},
                                           {inspect + "--against int8", "--against must be fp32 or fp64"},
                                           {"inspect " + kBundled + " --input s.de", "are for --compare-compute"},
                                           {inspect + "--input /dev/null", "has no lines"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_NE(outcome.status, 0) << arguments;
    EXPECT_THAT(outcome.error, HasSubstr(message));
  }
}

}  // namespace
}  // namespace dragoman::testing

#include "dragoman/pipeline/reranker.h"

#include "error_message.h"
#include "tiny_model.h"

#include <algorithm>

#include <gmock/gmock.h>

#include <dragoman/core/json.h>
#include <dragoman/pipeline/translator.h>

namespace dragoman::pipeline {
namespace {

using dragoman::testing::message_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string line_of(const std::string& source, const std::vector<std::pair<std::string, double>>& list) {
  core::Json record{{"line", 1}, {"text", list.front().first}, {"source", source}, {"extra", 7}};
  record["translation"] = list.front().first;
  record["score"] = list.front().second;
  for (const auto& [text, score] : list) record["n_best"].push_back({{"translation", text}, {"score", score}});
  return core::one_line(record);
}

class RerankerTest : public ::testing::Test {
 protected:
  NBestLine rerank(const std::string& text, const RerankOptions& options) {
    std::vector<NBestLine> lines = {read_n_best_line(text, "x")};
    const std::vector<std::string> where = {"x"};
    Reranker(options).rerank(lines, where);
    return lines.front();
  }
  /// By the scorer itself.
  double score(const std::string& source, const std::string& target, const ScorerOptions& options = {}) {
    return Scorer(model(), options).score({{source, target, "x"}}).front().score;
  }

  Model model() { return Model(model_.path(), host_, {.threads = 1}); }

  dragoman::testing::TinyModel model_;
  plugins::Host host_;
  const std::vector<std::pair<std::string, double>> list_ = {
      {"the cat sat", -0.4}, {"the dog", -0.5}, {"cat cat cat on", -0.6}, {"the mat", -0.7}};
};

/// Against the sum, computed here, of scores that the scorer gives one by one.
TEST_F(RerankerTest, SortsByTheWeightedSumOfAllScores) {
  for (const decoding::LengthPenalty& penalty : {decoding::LengthPenalty::none(), decoding::LengthPenalty::gnmt()}) {
    const ScorerOptions scorer{.length_penalty = penalty};
    const RerankOptions options{
        .models = {{model(), 0.5, false}, {model(), -0.25, true}}, .list_weight = 2, .scorer = scorer};
    std::vector<std::pair<double, std::string>> expected;
    for (const auto& [text, own] : list_)
      expected.emplace_back(2 * own + 0.5 * score("ein Hund", text, scorer) - 0.25 * score(text, "ein Hund", scorer),
                            text);
    std::sort(expected.begin(), expected.end(), std::greater<>());
    const NBestLine ranked = rerank(line_of("ein Hund", list_), options);
    const core::Json& best = ranked.record["n_best"];
    ASSERT_EQ(best.size(), list_.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(best[i]["translation"], expected[i].second);
      EXPECT_NEAR(best[i]["rerank_score"].get<double>(), expected[i].first, 1e-9);
      const std::string text = best[i]["translation"];
      const core::Json& parts = best[i]["rerank_parts"];
      EXPECT_EQ(parts["list"], best[i]["score"]);
      EXPECT_NEAR(parts[model_.path().string()].get<double>(), score("ein Hund", text, scorer), 1e-9);
      EXPECT_NEAR(parts["reverse " + model_.path().string()].get<double>(), score(text, "ein Hund", scorer), 1e-9);
    }
    EXPECT_EQ(ranked.record["text"], expected.front().second);
    EXPECT_EQ(ranked.record["translation"], expected.front().second);
    EXPECT_EQ(ranked.record["score"], best.front()["score"]);
    EXPECT_EQ(ranked.record["extra"], 7);
    EXPECT_EQ(ranked.translations.front(), expected.front().second);
  }
}

TEST_F(RerankerTest, WithoutWeightEverythingStaysInItsOrder) {
  const NBestLine ranked = rerank(line_of("ein Hund", list_), {.models = {{model(), 0, false}}, .list_weight = 0});
  EXPECT_THAT(ranked.translations, ElementsAre("the cat sat", "the dog", "cat cat cat on", "the mat"));
}

TEST_F(RerankerTest, LinesWithoutAListStayAsTheyAre) {
  const RerankOptions options{.models = {{model(), 1, false}}};
  for (const char* line : {R"({"line":1,"error":"no"})", R"({"line":2,"text":"","source":"","segments":[]})"}) {
    const NBestLine ranked = rerank(line, options);
    EXPECT_FALSE(ranked.can_be_ranked());
    EXPECT_EQ(core::one_line(ranked.record), line);
  }
  const NBestLine single = rerank(R"({"text":"the","source":"ein","translation":"the","score":-2})", options);
  EXPECT_EQ(single.record["text"], "the");
  EXPECT_FALSE(single.record.contains("n_best"));
  EXPECT_NEAR(single.record["rerank_score"].get<double>(), -2 + score("ein", "the"), 1e-9);
}

/// What the translator itself writes: a model that reranks its own list with nothing else finds its own scores.
TEST_F(RerankerTest, TakesWhatTheTranslatorMakes) {
  TranslateOptions translate{.details = true};
  translate.search.n_best = 4;
  translate.search.maximum_length = 4;
  Record record;
  record.line = 1;
  record.text = "the cat sat on the mat";
  Record translated = Translator(model(), translate).translate(std::vector<Record>{record}).front();
  core::Json json = translated.fields;
  json["text"] = translated.text;
  const NBestLine ranked = rerank(core::one_line(json), {.models = {{model(), 1, false}}, .list_weight = 0});
  ASSERT_EQ(ranked.translations.size(), 4U);
  for (const core::Json& entry : ranked.record["n_best"]) {
    if (entry["stopped_by"] != "end") continue;
    // A text may be cut into other tokens than those that were found.
    EXPECT_LE(entry["rerank_score"].get<double>(), 0);
  }
  EXPECT_TRUE(
      std::is_sorted(ranked.record["n_best"].begin(), ranked.record["n_best"].end(),
                     [](const core::Json& a, const core::Json& b) { return a["rerank_score"] > b["rerank_score"]; }));
}

/// JSON would have null for such sums, and the order would be arbitrary.
TEST_F(RerankerTest, ASumThatIsNotFiniteIsAnError) {
  const auto error = [&](double list_weight, double weight) {
    return message_of([&] {
      rerank(line_of("ein Hund", {{"the cat", -10}, {"the dog", 10}}),
             {.models = {{model(), weight, false}}, .list_weight = list_weight});
    });
  };
  EXPECT_THAT(error(1e308, 0), AllOf(HasSubstr("x: the weighted sum"), HasSubstr("the cat"), HasSubstr("weights")));
  EXPECT_THAT(error(1e308, 1e308), HasSubstr("not finite"));
  EXPECT_THAT(error(-1e308, 1e308), HasSubstr("not finite"));
}

TEST_F(RerankerTest, SaysWhatIsWrong) {
  const auto error = [](const std::string& line) {
    return message_of([&] { read_n_best_line(line, "lists.jsonl: line 3"); });
  };
  EXPECT_THAT(error("the cat"), HasSubstr("lists.jsonl: line 3"));
  EXPECT_THAT(error("[1]"), AllOf(HasSubstr("line 3"), HasSubstr("object"), HasSubstr("n_best")));
  EXPECT_THAT(error(R"({"translation":"a","score":1})"), HasSubstr("no source"));
  EXPECT_THAT(error(R"({"source":"s","n_best":[]})"), HasSubstr("n_best"));
  EXPECT_THAT(error(R"({"source":"s","n_best":[{"translation":"a"}]})"), HasSubstr("no score"));
  EXPECT_THAT(error(R"({"source":"s","n_best":[{"translation":3,"score":1}]})"), HasSubstr("no text"));
  EXPECT_THAT(error(R"({"source":"s","n_best":[7]})"), HasSubstr("no text"));
  EXPECT_THAT(message_of([&] { Reranker(RerankOptions{}); }, core::ErrorCode::kInvalidArgument), HasSubstr("no model"));
  std::string too_long;
  for (int i = 0; i < 100; ++i) too_long += "cat ";
  EXPECT_THAT(message_of([&] {
                rerank(line_of("ein", {{too_long, -1}}), {.models = {{model(), 1, false}}});
              }),
              AllOf(HasSubstr("x: the target has"), HasSubstr("tokens")));
}

}  // namespace
}  // namespace dragoman::pipeline

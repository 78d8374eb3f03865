#include "dragoman/pipeline/mbr.h"

#include "error_message.h"
#include "tiny_model.h"

#include <cmath>
#include <map>

#include <gmock/gmock.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/yaml.h>
#include <dragoman/evaluation/bleu.h>
#include <dragoman/evaluation/chrf.h>
#include <dragoman/pipeline/pipeline.h>
#include <dragoman/pipeline/translator.h>

namespace dragoman::pipeline {
namespace {

using dragoman::testing::error_of;
using ::testing::HasSubstr;

/// What golden/make_mbr_golden.py had sacreBLEU say.
TEST(MinimumBayesRisk, UtilitiesAreThoseOfSacreBleu) {
  const core::Json cases = core::load_json(dragoman::testing::golden_file("mbr.json").string());
  ASSERT_EQ(cases.size(), 10U);
  for (const core::Json& expected : cases) {
    const auto texts = expected["texts"].get<std::vector<std::string>>();
    const bool bleu = expected["utility"] == "bleu";
    SCOPED_TRACE(expected["utility"].get<std::string>() + " of " + texts.front());
    const MbrRanking ranking{.utility = bleu ? MbrUtility::kBleu : MbrUtility::kChrf, .n_best = 100};
    const auto ranked = rank_by_expected_utility(texts, std::vector<double>(texts.size()), ranking);
    const auto means = expected["means"].get<std::vector<double>>();
    for (const RankedCandidate& candidate : ranked)
      EXPECT_NEAR(candidate.expected_utility, means[candidate.index], 1e-10) << texts[candidate.index];
    EXPECT_NEAR(ranked.front().expected_utility, *std::max_element(means.begin(), means.end()), 1e-10);
    EXPECT_TRUE(std::is_sorted(ranked.begin(), ranked.end(),
                               [](const auto& a, const auto& b) { return a.expected_utility > b.expected_utility; }));
  }
}

TEST(MinimumBayesRisk, EachTextIsReturnedOnceAndCountsAsOftenAsItCame) {
  // "zzzz" alone has the least in common with the others, but it came three times.
  const std::vector<std::string> texts = {"aaaa aaab", "zzzz", "aaaa aaac", "zzzz", "zzzz"};
  const auto ranked = rank_by_expected_utility(texts, std::vector<double>(5), {.n_best = 10});
  ASSERT_EQ(ranked.size(), 3U);
  EXPECT_EQ(ranked.front().index, 1U);
  EXPECT_NEAR(ranked.front().expected_utility, 60, 1e-9);
  EXPECT_EQ(rank_by_expected_utility(texts, std::vector<double>(5), {.n_best = 2}).size(), 2U);
}

/// The definition, word for word: sum over j of P(j) u(i, j), with probabilities that are normalised.
TEST(MinimumBayesRisk, CandidatesOfABeamCountByTheirProbability) {
  const std::vector<std::string> texts = {"the cat sat", "the cat sits", "a dog ran off"};
  const std::vector<double> probabilities = {0.1, 0.15, 0.6};
  std::vector<double> logarithms;
  // So small that they would vanish if they were not taken together.
  for (const double p : probabilities) logarithms.push_back(std::log(p) - 5000);
  const auto ranked = rank_by_expected_utility(texts, logarithms, {.weighted = true, .n_best = 3});
  for (const RankedCandidate& candidate : ranked) {
    double expected = 0;
    for (std::size_t j = 0; j < texts.size(); ++j) {
      const std::vector<std::string> reference = {texts[j]};
      expected += probabilities[j] / 0.85 *
                  evaluation::sentence_score(evaluation::Chrf(), texts[candidate.index], reference).value;
    }
    EXPECT_NEAR(candidate.expected_utility, expected, 1e-9);
  }
  EXPECT_EQ(ranked.front().index, 2U);
}

class MbrTranslation : public ::testing::Test {
 protected:
  static TranslateOptions options(MbrCandidates candidates) {
    TranslateOptions options{.details = true};
    options.search.decoder = "mbr";
    options.search.n_best = 3;
    options.search.beam_size = 6;
    options.search.seed = 5;
    options.search.temperature = 0.7;
    options.search.mbr_candidates = decoding::name_of_choice(decoding::kMbrCandidates, candidates);
    options.search.mbr_samples = 7;
    return options;
  }
  static std::vector<Record> records() {
    std::vector<Record> records(9);
    for (std::size_t i = 0; i < records.size(); ++i) {
      records[i].line = i + 1;
      records[i].text = i % 3 == 0 ? "the cat sat on the mat" : i % 3 == 1 ? "ein Hund" : "";
    }
    return records;
  }
  std::vector<Record> translate(const TranslateOptions& options, std::vector<Record> records, int threads = 1) {
    return Translator(Model(model_.path(), host_, {.threads = threads}), options).translate(std::move(records));
  }

  dragoman::testing::TinyModel model_;
  plugins::Host host_;
};

/// From the list of candidates that the search itself returns, by brute force.
TEST_F(MbrTranslation, ChoosesAmongTheHypothesesOfTheSearch) {
  for (const MbrCandidates kind : {MbrCandidates::kSamples, MbrCandidates::kBeam}) {
    TranslateOptions search = options(kind);
    const bool beam = kind == MbrCandidates::kBeam;
    search.search.decoder = beam ? "beam" : "sampling";
    search.search.n_best = beam ? 6 : 7;
    const auto candidates = translate(search, records());
    const auto chosen = translate(options(kind), records());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i].text.empty() && candidates[i].text.empty()) continue;
      std::map<std::string, double> weights;
      double sum = 0;
      for (const core::Json& one : candidates[i].fields["n_best"]) {
        const double weight = beam ? std::exp(one["log_probability"].get<double>()) : 1;
        weights[one["translation"]] += weight;
        sum += weight;
      }
      std::map<std::string, double> expected;
      for (const auto& [text, own] : weights)
        for (const auto& [other, weight] : weights) {
          const std::vector<std::string> reference = {other};
          expected[text] += weight / sum * evaluation::sentence_score(evaluation::Chrf(), text, reference).value;
        }
      double best = -1;
      for (const auto& [text, utility] : expected) best = std::max(best, utility);
      EXPECT_NEAR(chosen[i].fields["expected_utility"].get<double>(), best, 1e-9);
      EXPECT_NEAR(expected.at(chosen[i].text), best, 1e-9);
      const core::Json& list = chosen[i].fields.contains("n_best") ? chosen[i].fields["n_best"] : core::Json::array();
      EXPECT_LE(list.size(), 3U);
      for (const core::Json& one : list)
        EXPECT_NEAR(one["expected_utility"].get<double>(), expected.at(one["translation"]), 1e-9);
    }
  }
}

TEST_F(MbrTranslation, DoesNotDependOnCompanyOrThreads) {
  const auto together = translate(options(MbrCandidates::kSamples), records(), 3);
  for (std::size_t i = 0; i < together.size(); ++i) {
    const auto alone = translate(options(MbrCandidates::kSamples), {records()[i]});
    EXPECT_EQ(alone.front().text, together[i].text);
    EXPECT_EQ(alone.front().fields, together[i].fields);
  }
  TranslateOptions other_seed = options(MbrCandidates::kSamples);
  other_seed.search.seed = 6;
  EXPECT_NE(translate(other_seed, records()).front().fields, together.front().fields);
}

/// What a line says is about what is returned; the candidates are the user's business.
TEST_F(MbrTranslation, ALineMaySayHowManyTranslationsItWants) {
  const auto usual = translate(options(MbrCandidates::kSamples), records());
  auto asking = records();
  asking[0].fields = {{"decoding", {{"n_best", 2}}}};
  asking[1].fields = {{"decoding", {{"n_best", 8}}}};
  asking[3].fields = {{"decoding", {{"decoder", "beam"}}}};
  asking[4].fields = {{"decoding", {{"temperature", 0.7}}}};
  const auto found = translate(options(MbrCandidates::kSamples), asking);
  EXPECT_EQ(found[0].text, usual[0].text);
  EXPECT_EQ(found[0].fields["n_best"].size(), 2U);
  EXPECT_EQ(usual[0].fields["n_best"].size(), 3U);
  EXPECT_THAT(found[1].message, HasSubstr("n_best: must be from 1 to 7"));
  EXPECT_THAT(found[3].message, HasSubstr("decoder: cannot be another"));
  EXPECT_EQ(found[4].text, usual[4].text);
}

TEST_F(MbrTranslation, APipelineSaysWhatIsWrong) {
  const auto error = [&](const std::string& options) {
    return error_of([&] {
      make_pipeline(core::parse_yaml("stages: [{read: {path: x}}, {translate: {model: " + model_.path().string() +
                                         options + "}}, {write: {path: y, format: jsonl}}]",
                                     "test"),
                    "test", host_, 1);
    });
  };
  EXPECT_EQ(error(", decoder: mbr, mbr-samples: 5, top-k: 3, n-best: 5"), "no error");
  EXPECT_EQ(error(", decoder: mbr, mbr-candidates: beam, beam-size: 9, n-best: 9, mbr-utility: bleu"), "no error");
  EXPECT_THAT(error(", decoder: mbr, mbr-samples: 5, n-best: 6"), HasSubstr("mbr_samples"));
  EXPECT_THAT(error(", decoder: mbr, mbr-candidates: beam, n-best: 6"), HasSubstr("beam_size"));
  EXPECT_THAT(error(", decoder: mbr, beam-size: 6"), HasSubstr("beam_size: only beam search"));
  EXPECT_THAT(error(", decoder: mbr, mbr-candidates: beam, temperature: 0.5"), HasSubstr("temperature: only sampling"));
  EXPECT_THAT(error(", mbr-utility: bleu"), HasSubstr("mbr_utility: only the decoder mbr"));
  EXPECT_THAT(error(", decoder: mbr, mbr-candidates: beam, mbr-samples: 8"), HasSubstr("mbr_samples: only"));
  EXPECT_THAT(error(", decoder: mbr, mbr-utility: comet"), HasSubstr("mbr_utility"));
  EXPECT_THAT(error(", decoder: mbr, mbr-samples: 0"), HasSubstr("mbr_samples"));
  EXPECT_THAT(error(", decoder: mbr, attention: cross"), HasSubstr("attention"));
}

}  // namespace
}  // namespace dragoman::pipeline

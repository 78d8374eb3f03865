#include "small_task.h"
#include "test_data.h"

#include <cmath>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/decoding/decoding_loop.h>
#include <dragoman/decoding/model_stepper.h>
#include <dragoman/decoding/score.h>
#include <dragoman/evaluation/bleu.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/training/validation.h>

namespace dragoman::training {
namespace {

/// An untrained model: its translations are nonsense, but deterministic and of all lengths.
class Validation : public ::testing::Test {
 protected:
  void SetUp() override {
    config_ = task_.config({"validation.beam_size=2", "validation.samples=3"});
    const auto tokenizer = std::shared_ptr(tokenizer::load_tokenizer(task_.file("tokenizer.json")));
    tokenizers_ = {tokenizer, tokenizer};
    const nn::SequenceSpec spec{.source_vocabulary = tokenizer->size(),
                                .target_vocabulary = tokenizer->size(),
                                .maximum_source_length = 32,
                                .maximum_target_length = 32};
    model_ = make_environment(testing::host()).make_model("transformer", spec, config_.model.options);
    model_->parameters().allocate(tensor::host_memory(), tensor::DType::kF32, tensor::Device::kCpu);
    model_->parameters().initialise(5);
    corpus_ = std::make_unique<Corpus>(
        ParallelCorpusConfig{{task_.file("train.source").string()}, {task_.file("train.target").string()}}, tokenizers_,
        CorpusOptions{.maximum_length = 32, .keep_text = true}, executor_);
  }

  ValidationResult validate(int threads) {
    const auto executor = core::make_executor(threads);
    return Validator(*corpus_, tokenizers_, config_.validation, testing::host().runtime(), tensor::Device::kCpu,
                     *executor)
        .run(*model_, draw_);
  }

  dragoman::testing::TemporaryFolder folder_;
  testing::SmallTask task_{folder_.path(), 250};
  TrainingConfig config_;
  TokenizerPair tokenizers_;
  core::SequentialExecutor executor_;
  std::unique_ptr<nn::Seq2SeqModel> model_;
  std::unique_ptr<Corpus> corpus_;
  SampleDraw draw_;
};

TEST_F(Validation, LossIsThatOfForcedDecoding) {
  const auto context = testing::host().runtime().make_context(tensor::Device::kCpu, executor_);
  double sum = 0;
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < corpus_->size(); ++i) {
    const auto source = corpus_->pairs().source[i];
    const auto target = corpus_->pairs().target[i];
    const std::vector<std::int32_t> source_offsets{0, static_cast<std::int32_t>(source.size())};
    const std::vector<std::int32_t> target_offsets{0, static_cast<std::int32_t>(target.size() - 1)};
    sum -= decoding::score(*model_, *context, {source, source_offsets},
                           {target.first(target.size() - 1), target_offsets})[0]
               .log_probability;
    tokens += static_cast<std::int64_t>(target.size());
  }
  const ValidationResult result = validate(1);
  EXPECT_EQ(result.tokens, tokens);
  EXPECT_NEAR(result.loss, sum / static_cast<double>(tokens), 1e-6);
  EXPECT_DOUBLE_EQ(result.perplexity, std::exp(result.loss));
}

TEST_F(Validation, ScoresTheTextOfRealDecoding) {
  const ValidationResult result = validate(1);
  const auto context = testing::host().runtime().make_context(tensor::Device::kCpu, executor_);
  decoding::ModelStepper stepper(*model_, *context);
  std::vector<decoding::Sentence> sentences(corpus_->size());
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const auto source = corpus_->pairs().source[i];
    sentences[i].source.assign(source.begin(), source.end());
  }
  std::vector<std::string> texts;
  for (const auto& hypotheses : decoding::decode_all(stepper, sentences, {.strategy = "beam", .beam_size = 2}))
    texts.push_back(tokenizers_.target->decode(hypotheses[0].tokens));
  std::vector<std::string> references;
  for (std::size_t i = 0; i < texts.size(); ++i) references.emplace_back(corpus_->target_text()[i]);
  const std::vector<std::vector<std::string>> streams{references};
  EXPECT_EQ(result.score("BLEU")->value, evaluation::corpus_bleu(texts, streams).value);
  EXPECT_TRUE(result.score("chrF2") != nullptr);
  ASSERT_EQ(result.samples.size(), 3U);
  EXPECT_EQ(result.samples[1].prediction, texts[1]);
  EXPECT_EQ(result.samples[1].reference, references[1]);
  EXPECT_EQ(result.samples[1].source, corpus_->source_text()[1]);
}

TEST_F(Validation, RandomSamplesAreShownWithTheirOwnTranslation) {
  config_.validation.samples = {.first = 250};
  const std::vector<ValidationSample> all = validate(1).samples;
  ASSERT_EQ(all.size(), 250U);
  config_.validation.samples = {.first = 2, .random = 3};
  draw_ = {.seed = 4, .number = 9};
  const std::vector<ValidationSample> samples = validate(1).samples;
  const std::vector<std::uint32_t> sentences = sampled_sentences(config_.validation.samples, 250, draw_);
  ASSERT_EQ(samples.size(), 5U);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(samples[i].source, all[sentences[i]].source);
    EXPECT_EQ(samples[i].prediction, all[sentences[i]].prediction);
    EXPECT_EQ(samples[i].reference, all[sentences[i]].reference);
    EXPECT_EQ(samples[i].random, i >= 2);
  }
}

TEST(SampledSentences, AreTheFirstAndThenOthersAtRandom) {
  std::vector<int> shown(20);
  std::set<std::vector<std::uint32_t>> draws;
  for (std::uint64_t number = 0; number < 1000; ++number) {
    const auto sentences = sampled_sentences({.first = 2, .random = 3}, 20, {.seed = 7, .number = number});
    EXPECT_THAT(std::vector(sentences.begin(), sentences.begin() + 2), ::testing::ElementsAre(0, 1));
    ASSERT_EQ(sentences.size(), 5U);
    EXPECT_EQ(std::set(sentences.begin(), sentences.end()).size(), 5U) << "none twice";
    EXPECT_TRUE(std::is_sorted(sentences.begin(), sentences.end()));
    for (const std::uint32_t sentence : sentences) ++shown.at(sentence);
    draws.insert(sentences);
  }
  EXPECT_GT(draws.size(), 500U) << "of 816 sets";
  // Each of the 18 others 1000 * 3 / 18 = 167 times, with a standard deviation of 12.
  for (std::size_t i = 2; i < shown.size(); ++i) EXPECT_NEAR(shown[i], 167, 60) << i;
}

TEST(SampledSentences, FollowFromSeedAndNumberAlone) {
  const SampleConfig config{.first = 1, .random = 4};
  const auto sentences = sampled_sentences(config, 1000, {.seed = 1, .number = 2});
  EXPECT_EQ(sampled_sentences(config, 1000, {.seed = 1, .number = 2}), sentences);
  EXPECT_NE(sampled_sentences(config, 1000, {.seed = 1, .number = 3}), sentences);
  EXPECT_NE(sampled_sentences(config, 1000, {.seed = 2, .number = 2}), sentences);
}

TEST(SampledSentences, AreNoMoreThanThereAre) {
  EXPECT_THAT(sampled_sentences({.first = 2, .random = 9}, 4, {}), ::testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(sampled_sentences({.first = 9, .random = 9}, 2, {}), ::testing::ElementsAre(0, 1));
  EXPECT_THAT(sampled_sentences({.first = 0, .random = 0}, 2, {}), ::testing::IsEmpty());
}

TEST_F(Validation, DoesNotDependOnThreads) {
  const ValidationResult one = validate(1);
  for (const int threads : {2, 3}) {
    const ValidationResult several = validate(threads);
    EXPECT_EQ(several.loss, one.loss);
    EXPECT_EQ(several.score("BLEU")->value, one.score("BLEU")->value);
    EXPECT_EQ(several.score("chrF2")->value, one.score("chrF2")->value);
  }
}

TEST_F(Validation, CanBeInterrupted) {
  const Validator validator(*corpus_, tokenizers_, config_.validation, testing::host().runtime(), tensor::Device::kCpu,
                            executor_);
  std::stop_source stop;
  stop.request_stop();
  try {
    validator.run(*model_, {}, {}, stop.get_token());
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kInterrupted);
  }
}

}  // namespace
}  // namespace dragoman::training

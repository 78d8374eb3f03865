#include "small_model.h"
#include "table_model.h"

#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/decoding/model_stepper.h>
#include <dragoman/decoding/score.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/transformer/transformer.h>

// The built-in model on the CPU, with packed weights as `translate` has them.
namespace dragoman::decoding {
namespace {

using testing::expect_same;
using testing::small_sentences;

class PreparedTransformer : public ::testing::Test {
 protected:
  static constexpr std::int32_t kVocabulary = 211;

  PreparedTransformer() : model_(transformer::make_transformer(spec(), config())) {
    const auto context = make_context();
    model_->parameters().allocate(context->memory(), context->float_type(), tensor::Device::kCpu);
    model_->parameters().initialise(3);
    model_->parameters().prepare(*context, tensor::ComputeType::kF32);
  }

  static nn::SequenceSpec spec() {
    nn::SequenceSpec result;
    result.source_vocabulary = kVocabulary;
    result.target_vocabulary = kVocabulary;
    result.maximum_source_length = 64;
    result.maximum_target_length = 64;
    return result;
  }
  static core::Json config() {
    return {{"d_model", 48},       {"heads", 4},          {"feed_forward", 96},
            {"encoder_layers", 2}, {"decoder_layers", 2}, {"tying", "all"}};
  }
  std::unique_ptr<tensor::Context> make_context() { return runtime_.make_context(tensor::Device::kCpu, executor_); }
  std::vector<std::vector<Hypothesis>> decode(const std::vector<Sentence>& sentences, const DecodingOptions& options,
                                              const LoopLimits& limits) {
    const auto context = make_context();
    ModelStepper stepper(*model_, *context);
    return decode_all(stepper, sentences, options, limits);
  }

  runtime::Runtime runtime_;
  core::SequentialExecutor executor_;
  std::unique_ptr<nn::Seq2SeqModel> model_;
};

TEST_F(PreparedTransformer, TranslatesToTheSameBitsInAnyBatchAndOrder) {
  const auto sentences = small_sentences(24, 17);
  for (const char* strategy : {"beam", "sampling"}) {
    const DecodingOptions options{.strategy = strategy, .n_best = 3, .maximum_length = 12, .want_alignment = true};
    const auto alone = decode(sentences, options, {.maximum_rows = 1});
    for (const std::int64_t rows : {9, 40, 1000})
      expect_same(alone, decode(sentences, options, {.maximum_rows = rows}));
    expect_same(alone, decode(sentences, options, {.maximum_rows = 30, .maximum_encoder_tokens = 20}));
    auto turned = sentences;
    std::rotate(turned.begin(), turned.begin() + 7, turned.end());
    auto results = decode(turned, options, {.maximum_rows = 25});
    std::rotate(results.begin(), results.end() - 7, results.end());
    expect_same(alone, results);
  }
}

TEST_F(PreparedTransformer, WorkersShareTheModelWithoutInfluence) {
  const auto sentences = small_sentences(24, 17);
  const DecodingOptions options{.maximum_length = 12};
  const auto expected = decode(sentences, options, {});
  std::vector<std::vector<std::vector<Hypothesis>>> halves(2);
  {
    std::vector<std::jthread> workers;
    for (std::size_t worker = 0; worker < 2; ++worker)
      workers.emplace_back([&, worker] {
        const auto first = sentences.begin() + static_cast<std::ptrdiff_t>(12 * worker);
        halves[worker] = decode({first, first + 12}, options, {.maximum_rows = worker == 0 ? 5 : 50});
      });
  }
  halves[0].insert(halves[0].end(), halves[1].begin(), halves[1].end());
  expect_same(expected, halves[0]);
}

TEST_F(PreparedTransformer, CachedStepsEqualTeacherForcing) {
  const auto sentences = small_sentences(10, 17);
  const auto found = decode(sentences, {.strategy = "sampling", .n_best = 2, .maximum_length = 20}, {});
  const auto context = make_context();
  for (std::size_t i = 0; i < sentences.size(); ++i)
    for (const Hypothesis& hypothesis : found[i]) {
      const std::vector<std::int32_t> source_offsets{0, static_cast<std::int32_t>(sentences[i].source.size())};
      const std::vector<std::int32_t> target_offsets{0, static_cast<std::int32_t>(hypothesis.tokens.size())};
      const auto scores =
          score(*model_, *context, {sentences[i].source, source_offsets}, {hypothesis.tokens, target_offsets});
      for (std::size_t t = 0; t < hypothesis.token_log_probabilities.size(); ++t)
        EXPECT_NEAR(hypothesis.token_log_probabilities[t], scores[0].token_log_probabilities[t], 2e-5);
    }
}

}  // namespace
}  // namespace dragoman::decoding

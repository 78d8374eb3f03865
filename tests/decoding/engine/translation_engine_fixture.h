#pragma once

#include "dragoman/engine/translation_engine.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/random.h>
#include <dragoman/decoding/model_stepper.h>
#include <dragoman/transformer/transformer.h>

namespace dragoman::engine {

using decoding::DecodingOptions;
using decoding::Hypothesis;
using decoding::SearchPlan;
using decoding::SharedSearch;
using Hypotheses = std::vector<Hypothesis>;

inline std::vector<std::vector<std::int32_t>> random_sources(std::size_t count) {
  std::vector<std::vector<std::int32_t>> sources(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t length = core::random_below(17, 5, i, 0);
    for (std::uint64_t t = 0; t < length; ++t)
      sources[i].push_back(4 + static_cast<std::int32_t>(core::random_below(200, 5, i, t + 1)));
    sources[i].push_back(nn::SequenceSpec{}.end);
  }
  return sources;
}

inline std::string message_of(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& failure) {
    return failure.what();
  }
}

inline void expect_equal(const Hypotheses& a, const Hypotheses& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].tokens, b[i].tokens);
    EXPECT_EQ(a[i].score, b[i].score);
    EXPECT_EQ(a[i].token_log_probabilities, b[i].token_log_probabilities);
    EXPECT_EQ(a[i].alignment, b[i].alignment);
  }
}

class TranslationEngineTest : public ::testing::Test {
 protected:
  TranslationEngineTest() : model_(transformer::make_transformer(spec(), config())) {
    const auto context = make_context();
    model_->parameters().allocate(context->memory(), context->float_type(), tensor::Device::kCpu);
    model_->parameters().initialise(3);
    model_->parameters().prepare(*context, tensor::ComputeType::kF32);
  }

  static nn::SequenceSpec spec() {
    nn::SequenceSpec result;
    result.source_vocabulary = 211;
    result.target_vocabulary = 211;
    result.maximum_source_length = 64;
    result.maximum_target_length = 64;
    return result;
  }
  static core::Json config() {
    return {{"d_model", 32},       {"heads", 4},          {"feed_forward", 48},
            {"encoder_layers", 1}, {"decoder_layers", 1}, {"tying", "all"}};
  }
  std::unique_ptr<tensor::Context> make_context() { return runtime_.make_context(tensor::Device::kCpu, executor_); }

  /// By a decoding loop of its own, which knows of nothing else.
  Hypotheses alone(const std::vector<std::int32_t>& source, std::uint64_t line, const SharedSearch& search) {
    const auto context = make_context();
    decoding::ModelStepper stepper(*model_, *context);
    return decode_all(stepper, {{.source = source, .line = line}}, search).front();
  }
  static TranslationRequest request(std::vector<std::int32_t> source, std::uint64_t line, SharedSearch search) {
    return {.source = std::move(source), .target_prefix = {}, .line = line, .search = std::move(search), .stop = {}};
  }

  /// A search that takes a while: nothing ends before the longest length.
  static SharedSearch endless() {
    return std::make_shared<const SearchPlan>(DecodingOptions{.minimum_length = 63, .maximum_length = 63});
  }

  runtime::Runtime runtime_;
  core::SequentialExecutor executor_;
  std::unique_ptr<nn::Seq2SeqModel> model_;
};

}  // namespace dragoman::engine

#include "dragoman/decoding/inner_states.h"

#include "model_harness.h"
#include "test_data.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/formats/safetensors.h>
#include <dragoman/ops/attention.h>

namespace dragoman::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// What golden/make_inner_states.py computed, of the first sentence of this batch.
class InnerStatesTest : public ::testing::TestWithParam<std::tuple<const char*, tensor::Device>> {
 protected:
  InnerStatesTest()
      : pre_(std::string_view(std::get<0>(GetParam())) == "pre"),
        expected_(formats::SafetensorsFile::open(golden_file("inner_states_" + norm() + ".safetensors"))),
        bench_(std::get<1>(GetParam()),
               {.source_vocabulary = 23,
                .target_vocabulary = 23,
                .maximum_source_length = 64,
                .maximum_target_length = 64},
               {{"d_model", 8},
                {"heads", 2},
                {"feed_forward", 16},
                {"encoder_layers", 2},
                {"decoder_layers", 2},
                {"norm", norm()},
                {"activation", pre_ ? "relu" : "gelu"},
                {"dropout", 0.0}}),
        tolerance_(std::get<1>(GetParam()) == tensor::Device::kReference ? 1e-6 : 3e-5) {
    const auto parameters = formats::SafetensorsFile::open(golden_file("transformer_" + norm() + ".safetensors"));
    for (const nn::Parameter& parameter : bench_.model->parameters().all())
      parameters.read(*parameters.find(parameter.name), parameter.value);
  }

  std::string norm() const { return pre_ ? "pre" : "post"; }

  std::vector<decoding::InnerStates> look(const decoding::InnerStatesRequest& request) {
    return decoding::inner_states(*bench_.model, *bench_.context, sources_.view(), targets_.view(), request);
  }
  decoding::AttentionMaps attention(const decoding::AttentionRequest& request) {
    return look({.attention = request}).front().attention;
  }

  void expect_values(const std::vector<float>& actual, const std::string& name, std::size_t first = 0) const {
    const auto bytes = expected_.read(name);
    std::vector<double> expected(bytes.size() / sizeof(double));
    std::memcpy(expected.data(), bytes.data(), bytes.size());
    ASSERT_LE(first + actual.size(), expected.size()) << name;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const double value = expected[first + i];
      if (std::isinf(value))
        EXPECT_EQ(actual[i], value) << name << " element " << first + i;
      else
        EXPECT_NEAR(actual[i], value, tolerance_ * (1 + std::fabs(value))) << name << " element " << first + i;
    }
  }

  const Batch sources_{{{5, 9, 4, 22, 2}, {7, 2}}};
  const Batch targets_{{{6, 8}, {12, 13, 14, 15}}};
  bool pre_;
  formats::SafetensorsFile expected_;
  Bench bench_;
  double tolerance_;
};

using decoding::AttentionKind;

TEST_P(InnerStatesTest, AttentionOfEveryLayerAndHead) {
  for (const auto& [kind, name] : {std::pair{AttentionKind::kEncoder, "encoder"},
                                   {AttentionKind::kDecoder, "decoder"},
                                   {AttentionKind::kCross, "cross"}}) {
    const decoding::AttentionMaps maps = attention({.kind = kind});
    EXPECT_THAT(maps.layers, ElementsAre(0, 1));
    EXPECT_THAT(maps.heads, ElementsAre(0, 1));
    EXPECT_EQ(maps.queries, kind == AttentionKind::kEncoder ? 5 : 3);
    EXPECT_EQ(maps.keys, kind == AttentionKind::kDecoder ? 3 : 5);
    ASSERT_EQ(maps.values.size(), static_cast<std::size_t>(4 * maps.queries * maps.keys));
    expect_values(maps.values, std::string(name) + ".weights");
    expect_values(attention({.kind = kind, .before_softmax = true}).values, std::string(name) + ".scores");
  }
}

TEST_P(InnerStatesTest, ChosenLayersAndHeadsAndTheirMean) {
  const decoding::AttentionMaps all = attention({});
  const std::size_t map = 3 * 5;
  const decoding::AttentionMaps last = attention({.layers = {-1}, .heads = {1}});
  EXPECT_THAT(last.layers, ElementsAre(1));
  EXPECT_THAT(last.heads, ElementsAre(1));
  EXPECT_EQ(last.values, std::vector<float>(all.values.end() - map, all.values.end()));
  const decoding::AttentionMaps swapped = attention({.layers = {1, 0}, .heads = {1, 0}});
  EXPECT_EQ(swapped.at(0, 0, 2, 4), all.at(1, 1, 2, 4));
  EXPECT_EQ(swapped.at(1, 0, 2, 4), all.at(0, 1, 2, 4));
  const decoding::AttentionMaps mean = attention({.mean = true});
  EXPECT_THAT(mean.heads, ElementsAre(-1));
  ASSERT_EQ(mean.values.size(), 2 * map);
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 5; ++j)
      EXPECT_NEAR(mean.at(1, 0, i, j), (all.at(1, 0, i, j) + all.at(1, 1, i, j)) / 2, 1e-6);
  EXPECT_EQ(attention({.heads = {0}, .mean = true}).values, attention({.heads = {0}}).values);
}

TEST_P(InnerStatesTest, FullContextShowsTheDecoderTheWholeTarget) {
  expect_values(attention({.kind = AttentionKind::kDecoder, .full_context = true}).values,
                "full_context.decoder.weights");
  expect_values(attention({.kind = AttentionKind::kCross, .full_context = true}).values, "full_context.cross.weights");
}

TEST_P(InnerStatesTest, StatesOfEveryLayer) {
  for (const bool of_decoder : {false, true}) {
    const std::string name = of_decoder ? "decoder" : "encoder";
    const auto states = [&](bool final_states, std::vector<int> layers) {
      return look({.states = decoding::StatesRequest{of_decoder, final_states, std::move(layers)}}).front().states;
    };
    const decoding::TokenStates all = states(false, {});
    EXPECT_EQ(all.layers, 3);
    EXPECT_EQ(all.tokens, of_decoder ? 3 : 5);
    EXPECT_EQ(all.width, 8);
    expect_values(all.values, name + ".layers");
    expect_values(states(true, {}).values, name + ".states");
    const decoding::TokenStates last = states(false, {-1});
    EXPECT_EQ(last.layers, 1);
    expect_values(last.values, name + ".layers", static_cast<std::size_t>(2 * last.tokens * last.width));
  }
}

TEST_P(InnerStatesTest, EachSentenceHasItsOwnWhateverItsBatch) {
  // As programs have weights: products with plain ones may round differently with another number of rows.
  bench_.model->parameters().prepare(*bench_.context, tensor::ComputeType::kF32);
  const decoding::InnerStatesRequest request{.attention = decoding::AttentionRequest{.kind = AttentionKind::kCross},
                                             .states = decoding::StatesRequest{.of_decoder = true}};
  const auto both = look(request);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[1].attention.queries, 5);
  EXPECT_EQ(both[1].attention.keys, 2);
  EXPECT_EQ(both[1].states.tokens, 5);
  const Batch source({{7, 2}});
  const Batch target({{12, 13, 14, 15}});
  const auto alone = decoding::inner_states(*bench_.model, *bench_.context, source.view(), target.view(), request);
  EXPECT_EQ(alone[0].attention.values, both[1].attention.values);
  EXPECT_EQ(alone[0].states.values, both[1].states.values);
}

TEST_P(InnerStatesTest, WhatTheModelDoesNotHaveIsRefused) {
  const auto message = [&](const decoding::InnerStatesRequest& request) {
    try {
      look(request);
    } catch (const core::Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(message({.attention = decoding::AttentionRequest{.layers = {2}}}),
              HasSubstr("no attention layer 2; the model has 2"));
  EXPECT_THAT(message({.attention = decoding::AttentionRequest{.heads = {2}}}),
              HasSubstr("no attention head 2; layers have 2"));
  EXPECT_THAT(message({.states = decoding::StatesRequest{.final_states = false, .layers = {3}}}),
              HasSubstr("no states 3"));
  // The context is as it was: nobody observes it.
  EXPECT_EQ(ops::attention_observer(*bench_.context), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Variants, InnerStatesTest,
                         ::testing::Combine(::testing::Values("pre", "post"),
                                            ::testing::Values(tensor::Device::kReference, tensor::Device::kCpu)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  std::string(tensor::name_of(std::get<1>(test.param)));
                         });

}  // namespace
}  // namespace dragoman::testing

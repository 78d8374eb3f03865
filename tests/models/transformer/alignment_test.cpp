#include "model_harness.h"

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/decoding/inner_states.h>
#include <dragoman/nn/pooled_state.h>

namespace dragoman::testing {
namespace {

/// `alignment_layer` and `alignment_heads` against the attention of every layer and head, which InnerStatesTest
/// compares with golden values.
class AlignmentTest : public ::testing::TestWithParam<int> {};

TEST_P(AlignmentTest, IsTheMeanOfTheFirstHeadsOfTheChosenLayer) {
  constexpr int kLayers = 3;
  const int layer = GetParam();
  for (const int heads : {1, 2, 3}) {
    Bench bench(tensor::Device::kReference, {.source_vocabulary = 17, .target_vocabulary = 17},
                {{"d_model", 12},
                 {"heads", 3},
                 {"feed_forward", 20},
                 {"encoder_layers", 1},
                 {"decoder_layers", kLayers},
                 {"alignment_layer", layer},
                 {"alignment_heads", heads}});
    const Batch source({{5, 9, 4, 2}, {7, 2}});
    const Batch inputs({{1, 6}, {1, 3, 8}});
    const Batch targets({{6}, {3, 8}});
    const int index = layer < 0 ? kLayers + layer : layer;
    const auto inner = decoding::inner_states(
        *bench.model, *bench.context, source.view(), targets.view(),
        {.attention = decoding::AttentionRequest{.kind = decoding::AttentionKind::kCross, .layers = {index}}});

    nn::PooledState state(*bench.context, bench.model->state_layout());
    state.request_alignment(bench.model->alignment_heads());
    std::vector<std::int32_t> slots(2);
    bench.context->step([&] {
      const nn::Encoding encoding = bench.model->encode(*bench.context, source.view());
      state.admit(*bench.context, encoding.offsets.host, slots);
      state.store_memories(*bench.context, bench.model->memories(*bench.context, encoding));
      const std::vector<nn::RowRef> rows = {{slots[0], -1}, {slots[1], -1}};
      state.set_rows(rows);
      bench.model->decode(*bench.context, inputs.view(), state);
      for (std::size_t b = 0; b < 2; ++b)
        for (std::int64_t i = 0; i < inputs.view().length(static_cast<std::int64_t>(b)); ++i) {
          const std::vector<float> weights = state.alignment(inputs.offsets[b] + i);
          ASSERT_EQ(static_cast<std::int64_t>(weights.size()), inner[b].attention.keys);
          for (std::int64_t j = 0; j < inner[b].attention.keys; ++j) {
            double mean = 0;
            for (int head = 0; head < heads; ++head)
              mean += static_cast<double>(inner[b].attention.at(0, head, i, j)) / heads;
            EXPECT_NEAR(weights[static_cast<std::size_t>(j)], mean, 1e-6) << "query " << i << " key " << j;
          }
        }
    });
  }
}

TEST_P(AlignmentTest, IsTheSameWhereTheWholeTargetIsReadAtOnce) {
  constexpr int kLayers = 3;
  const int layer = GetParam();
  Bench bench(tensor::Device::kReference, {.source_vocabulary = 17, .target_vocabulary = 17},
              {{"d_model", 12},
               {"heads", 3},
               {"feed_forward", 20},
               {"encoder_layers", 1},
               {"decoder_layers", kLayers},
               {"alignment_layer", layer},
               {"alignment_heads", 2}});
  const Batch source({{5, 9, 4, 2}, {7, 2}});
  const Batch targets({{6}, {3, 8}});
  for (const bool full_context : {false, true}) {
    const auto maps = [&](decoding::AttentionRequest request) {
      request.full_context = full_context;
      return decoding::inner_states(*bench.model, *bench.context, source.view(), targets.view(),
                                    {.attention = request});
    };
    const auto named = maps({.layers = {layer}, .heads = {0, 1}, .mean = true});
    const auto of_model = maps({.of_model = true});
    for (std::size_t b = 0; b < 2; ++b) {
      EXPECT_EQ(of_model[b].attention.queries, named[b].attention.queries);
      EXPECT_EQ(of_model[b].attention.keys, named[b].attention.keys);
      ASSERT_EQ(of_model[b].attention.values.size(), named[b].attention.values.size());
      for (std::size_t i = 0; i < named[b].attention.values.size(); ++i)
        EXPECT_NEAR(of_model[b].attention.values[i], named[b].attention.values[i], 1e-6F);
    }
  }
  EXPECT_THROW(decoding::inner_states(*bench.model, *bench.context, source.view(), targets.view(),
                                      {.attention = decoding::AttentionRequest{.of_model = true, .layers = {0}}}),
               core::Error);
}

INSTANTIATE_TEST_SUITE_P(Layers, AlignmentTest, ::testing::Values(0, 1, 2, -1, -3), [](const auto& test) {
  return test.param < 0 ? "last_but_" + std::to_string(-1 - test.param) : std::to_string(test.param);
});

}  // namespace
}  // namespace dragoman::testing

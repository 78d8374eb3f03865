#include "dragoman/transformer/transformer_variant.h"

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/nn/whole_state.h>
#include <dragoman/runtime/runtime.h>
#include <dragoman/transformer/transformer.h>

namespace dragoman::transformer {
namespace {

/// What the Transformer itself has in this place: the variant must then be the Transformer, parameter names included.
class SelfAttentionMixer : public CausalSelfAttention {
 public:
  static constexpr std::string_view kName = "self_attention";
  using CausalSelfAttention::CausalSelfAttention;
};

constexpr std::int64_t kVocabulary = 11;
const std::vector<std::int32_t> kSource = {3, 4, 5, 2, 6, 2};
const std::vector<std::int32_t> kSourceOffsets = {0, 4, 6};
const std::vector<std::int32_t> kTarget = {1, 7, 8, 1, 9};
const std::vector<std::int32_t> kTargetOffsets = {0, 3, 5};

nn::SequenceSpec example_spec() {
  nn::SequenceSpec spec;
  spec.source_vocabulary = spec.target_vocabulary = kVocabulary;
  return spec;
}

std::vector<double> states_of(nn::Seq2SeqModel& model, tensor::Context& context) {
  model.parameters().allocate(context.memory(), context.float_type(), context.device());
  model.parameters().initialise(7);
  const nn::Encoding encoding = model.encode(context, {kSource, kSourceOffsets});
  const std::vector<nn::KeyValue> memories = model.memories(context, encoding);
  nn::WholeState state(memories, context.indices(kSourceOffsets));
  const tensor::Tensor states = model.decode(context, {kTarget, kTargetOffsets}, state).states.value;
  std::vector<double> values;
  for (std::int64_t i = 0; i < states.rows; ++i)
    for (std::int64_t j = 0; j < states.cols; ++j) values.push_back(tensor::element(states, i, j));
  return values;
}

struct Setting {
  const char* name;
  core::Json keys;
};

class TransformerVariantTest : public ::testing::TestWithParam<Setting> {};

TEST_P(TransformerVariantTest, WithSelfAttentionItIsTheTransformer) {
  core::Json config = {{"d_model", 12},       {"heads", 2},          {"feed_forward", 12},
                       {"encoder_layers", 2}, {"decoder_layers", 3}, {"alignment_layer", 1}};
  config.update(GetParam().keys);
  const auto variant = TransformerVariant<SelfAttentionMixer>::make(example_spec(), config);
  const auto original = make_transformer(example_spec(), config);
  ASSERT_EQ(variant->parameters().all().size(), original->parameters().all().size());
  for (std::size_t p = 0; p < variant->parameters().all().size(); ++p)
    EXPECT_EQ(variant->parameters().all()[p].name, original->parameters().all()[p].name);
  EXPECT_EQ(variant->config(), original->config());
  EXPECT_EQ(variant->width(), original->width());
  EXPECT_EQ(variant->recordable_in_training(), original->recordable_in_training());
  EXPECT_EQ(variant->alignment_heads().memory.index, original->alignment_heads().memory.index);

  const runtime::Runtime runtime;
  core::SequentialExecutor executor;
  const auto context = runtime.make_context(tensor::Device::kReference, executor);
  for (const std::uint64_t step : {0, 1, 2}) {
    autograd::training_mode(*context).set_training(step > 0);
    autograd::training_mode(*context).set_random(3, step);
    const std::vector<double> expected = states_of(*original, *context);
    autograd::training_mode(*context).set_random(3, step);
    EXPECT_EQ(states_of(*variant, *context), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, TransformerVariantTest,
                         ::testing::Values(Setting{"pre", {{"norm", "pre"}}}, Setting{"post", {{"norm", "post"}}},
                                           Setting{"every_variant",
                                                   {{"init", "xavier-uniform"},
                                                    {"position_base", 100},
                                                    {"tying", "none"},
                                                    {"output_width", 5},
                                                    {"query_scaling", "early"},
                                                    {"encoder_tied_layers", {0, 0}},
                                                    {"decoder_tied_layers", {0, 1, 0}},
                                                    {"dropout", {{"layer", 0.4}}}}}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace dragoman::transformer

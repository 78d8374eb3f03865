#include "model_harness.h"

#include <cmath>

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/nn/whole_state.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/dropout.h>
#include <dragoman/ops/embedding.h>
#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/slice.h>

namespace dragoman::testing {
namespace {

/// The Transformer of Vaswani et al. 2017 with dropout at every documented place, composed of single ops; each dropout
/// takes the next mask of the step.
class DroppingTransformer {
 public:
  DroppingTransformer(Bench& bench, const core::Json& config)
      : model_(*bench.model), context_(*bench.context), config_(config), pre_(config["norm"] == "pre") {}

  nn::Variable encode(const Batch& source) const {
    const ops::Offsets offsets = context_.indices(source.offsets);
    nn::Variable x = embed(source, "encoder");
    for (int i = 0; i < layers("encoder_layers"); ++i) {
      const std::string at = "encoder.layers." + std::to_string(i) + ".";
      x = self_attention_block(x, at, offsets, false);
      x = feed_forward_block(x, at);
    }
    return norm(x, "encoder.final_norm");
  }

  nn::Variable decode(const Batch& inputs, const nn::Variable& memory, const Batch& source) const {
    const ops::Offsets offsets = context_.indices(inputs.offsets);
    const ops::Offsets source_offsets = context_.indices(source.offsets);
    nn::Variable x = embed(inputs, "decoder");
    for (int i = 0; i < layers("decoder_layers"); ++i) {
      const std::string at = "decoder.layers." + std::to_string(i) + ".";
      x = self_attention_block(x, at, offsets, true);
      x = residual(x, at + "cross_attention_norm", [&](const nn::Variable& y) {
        const std::string name = at + "cross_attention";
        const auto [k, v] = ops::split_columns<2>(context_, linear(memory, name + ".kv"));
        return linear(attend(linear(y, name + ".q"), k, v, offsets, source_offsets, false), name + ".out");
      });
      x = feed_forward_block(x, at);
    }
    return norm(x, "decoder.final_norm");
  }

 private:
  int layers(const char* key) const { return config_[key].get<int>(); }
  double rate(const char* place) const { return config_["dropout"][place].get<double>(); }
  nn::Variable drop(const nn::Variable& x, const char* place) const { return ops::dropout(context_, x, rate(place)); }
  nn::Variable parameter(const std::string& name) const { return model_.parameters().find(name)->variable(); }

  nn::Variable linear(const nn::Variable& x, const std::string& name,
                      ops::Activation activation = ops::Activation::kNone) const {
    return ops::linear(context_, x, model_.parameters().find(name + ".weight")->weight(), parameter(name + ".bias"),
                       activation);
  }
  nn::Variable norm(const nn::Variable& x, const std::string& name) const {
    return ops::layer_norm(context_, x, parameter(name + ".weight"), parameter(name + ".bias"), 1e-5);
  }

  nn::Variable embed(const Batch& batch, const std::string& side) const {
    auto* positions =
        static_cast<std::int32_t*>(context_.host_arena().allocate(batch.tokens.size() * sizeof(std::int32_t)));
    for (std::int64_t b = 0; b < batch.view().batch(); ++b)
      for (std::int32_t i = 0; i < batch.view().length(b); ++i)
        positions[batch.offsets[static_cast<std::size_t>(b)] + i] = i;
    nn::Variable x = ops::embedding(context_, context_.indices(batch.tokens), parameter("embedding.weight"),
                                    context_.indices({positions, batch.tokens.size()}),
                                    parameter(side + ".positions.weight"), {.scale = std::sqrt(12.0)});
    if (config_["embedding_norm"].get<bool>()) x = norm(x, side + ".norm");
    return drop(x, "embedding");
  }

  nn::Variable attend(const nn::Variable& q, const nn::Variable& k, const nn::Variable& v,
                      const ops::Offsets& q_offsets, const ops::Offsets& k_offsets, bool causal) const {
    return ops::attention(context_, q, k, v, q_offsets, k_offsets,
                          {.heads = 3, .causal = causal, .dropout = rate("attention")})
        .output;
  }

  template <class SubLayer>
  nn::Variable residual(const nn::Variable& x, const std::string& norm_name, SubLayer&& sub_layer) const {
    if (pre_) return ops::add(context_, x, drop(sub_layer(norm(x, norm_name)), "sub_layer"));
    return norm(ops::add(context_, x, drop(sub_layer(x), "sub_layer")), norm_name);
  }

  nn::Variable self_attention_block(const nn::Variable& x, const std::string& at, const ops::Offsets& offsets,
                                    bool causal) const {
    return residual(x, at + "self_attention_norm", [&](const nn::Variable& y) {
      const auto [q, k, v] = ops::split_columns<3>(context_, linear(y, at + "self_attention.qkv"));
      return linear(attend(q, k, v, offsets, offsets, causal), at + "self_attention.out");
    });
  }

  nn::Variable feed_forward_block(const nn::Variable& x, const std::string& at) const {
    return residual(x, at + "feed_forward_norm", [&](const nn::Variable& y) {
      const nn::Variable inner = linear(y, at + "feed_forward.in", ops::Activation::kRelu);
      return linear(drop(inner, "activation"), at + "feed_forward.out");
    });
  }

  const nn::Seq2SeqModel& model_;
  tensor::Context& context_;
  core::Json config_;
  bool pre_;
};

/// All other rates are 0.
core::Json dropout_rates(const core::Json& changes) {
  core::Json rates{{"embedding", 0}, {"sub_layer", 0}, {"activation", 0}, {"attention", 0}};
  rates.update(changes);
  return rates;
}

struct DroppedPlace {
  const char* name;
  core::Json rates;
  bool embedding_norm = false;
};

class DropoutPlacesTest : public ::testing::TestWithParam<std::tuple<DroppedPlace, const char*>> {
 protected:
  static core::Json config() {
    const auto& [place, norm] = GetParam();
    return {{"d_model", 12},
            {"heads", 3},
            {"feed_forward", 20},
            {"encoder_layers", 2},
            {"decoder_layers", 2},
            {"norm", norm},
            {"final_norm", true},
            {"dropout", dropout_rates(place.rates)},
            {"embedding_norm", place.embedding_norm},
            {"positions", "learned"}};
  }

  struct States {
    std::vector<double> encoder;
    std::vector<double> decoder;
  };
  static void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, const char* what) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 1e-12) << what << " " << i;
  }

  /// Of the model, or of the composition in training or outside of it.
  States of_model() {
    States result;
    start(true);
    bench_.context->step([&] {
      const nn::Encoding encoding = bench_.model->encode(*bench_.context, source_.view());
      result.encoder = values_of(encoding.states.value);
      const auto memories = bench_.model->memories(*bench_.context, encoding);
      nn::WholeState state(memories, encoding.offsets);
      result.decoder = values_of(bench_.model->decode(*bench_.context, inputs_.view(), state).states.value);
    });
    return result;
  }
  States of_composition(bool training) {
    const DroppingTransformer composed(bench_, config());
    States result;
    start(training);
    bench_.context->step([&] {
      const nn::Variable memory = composed.encode(source_);
      result.encoder = values_of(memory.value);
      result.decoder = values_of(composed.decode(inputs_, memory, source_).value);
    });
    return result;
  }
  void start(bool training) {
    autograd::training_mode(*bench_.context).set_training(training);
    autograd::training_mode(*bench_.context).set_random(5, 9);
  }

  Bench bench_{
      tensor::Device::kReference,
      {.source_vocabulary = 17, .target_vocabulary = 17, .maximum_source_length = 8, .maximum_target_length = 8},
      config()};
  const Batch source_{{{5, 9, 4, 16, 2}, {7, 2}, {3, 3, 11, 2}}};
  const Batch inputs_{{{1, 6, 8}, {1, 12, 13, 14, 15}, {1, 10}}};
};

TEST_P(DropoutPlacesTest, AreThoseOfTheComposition) {
  const States model = of_model();
  const States composed = of_composition(true);
  expect_near(model.encoder, composed.encoder, "encoder");
  expect_near(model.decoder, composed.decoder, "decoder");
  // The comparison says something: both stacks were dropped from.
  const States whole = of_composition(false);
  EXPECT_NE(composed.encoder, whole.encoder);
  EXPECT_NE(composed.decoder, whole.decoder);
}

INSTANTIATE_TEST_SUITE_P(
    Keys, DropoutPlacesTest,
    ::testing::Combine(
        ::testing::Values(
            DroppedPlace{"embedding", {{"embedding", 0.5}}},
            DroppedPlace{"embedding_behind_its_norm", {{"embedding", 0.5}}, true},
            DroppedPlace{"sub_layer", {{"sub_layer", 0.5}}}, DroppedPlace{"activation", {{"activation", 0.5}}},
            DroppedPlace{"attention", {{"attention", 0.5}}},
            DroppedPlace{"all", {{"embedding", 0.1}, {"sub_layer", 0.2}, {"activation", 0.3}, {"attention", 0.4}}}),
        ::testing::Values("pre", "post")),
    [](const auto& test) { return std::string(std::get<0>(test.param).name) + "_" + std::get<1>(test.param); });

}  // namespace
}  // namespace dragoman::testing

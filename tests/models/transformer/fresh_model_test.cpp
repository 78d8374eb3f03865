#include "model_harness.h"

#include <map>

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/transformer/config.h>

namespace dragoman::testing {
namespace {

/// Copies of a layer are no copies: each matrix is drawn for itself, and is nobody else's memory.
class FreshTransformer : public ::testing::Test {
 protected:
  Bench bench_{
      tensor::Device::kReference,
      {.source_vocabulary = 12, .target_vocabulary = 12, .maximum_source_length = 12, .maximum_target_length = 12},
      {{"d_model", 12},
       {"heads", 3},
       {"feed_forward", 12},
       {"encoder_layers", 3},
       {"decoder_layers", 3},
       {"tying", "none"},
       {"positions", "learned"}}};
};

TEST_F(FreshTransformer, NoTwoMatricesShareAValue) {
  std::map<double, std::string> drawn;
  for (const nn::Parameter& parameter : bench_.model->parameters().all()) {
    if (parameter.rank != 2) continue;
    for (const double value : values_of(parameter.value)) {
      const auto [other, is_new] = drawn.emplace(value, parameter.name);
      ASSERT_TRUE(is_new) << value << " is in " << other->second << " and in " << parameter.name;
    }
  }
  EXPECT_GT(drawn.size(), 5000U);
}

TEST_F(FreshTransformer, ChangingAParameterChangesNoOther) {
  auto& parameters = bench_.model->parameters().all();
  std::vector<std::vector<double>> before;
  for (const nn::Parameter& parameter : parameters) before.push_back(values_of(parameter.value));
  for (std::size_t changed = 0; changed < parameters.size(); ++changed) {
    for (std::int64_t i = 0; i < parameters[changed].rows; ++i)
      for (std::int64_t j = 0; j < parameters[changed].cols; ++j)
        tensor::set_element(parameters[changed].value, i, j, 1000.0 + static_cast<double>(changed));
    // Those before it hold their marks, those behind it what was drawn.
    for (std::size_t other = 0; other < parameters.size(); ++other) {
      const auto values = values_of(parameters[other].value);
      if (other > changed)
        ASSERT_EQ(values, before[other]) << parameters[changed].name << " changed " << parameters[other].name;
      else
        ASSERT_EQ(values, std::vector<double>(values.size(), 1000.0 + static_cast<double>(other)))
            << parameters[changed].name << " changed " << parameters[other].name;
    }
  }
}

/// The base model of Vaswani et al. 2017, table 3, but for the place of the norms (Xiong et al. 2020).
TEST(TransformerDefaults, AreTheBaseModelOf2017) {
  const core::Json defaults = transformer::to_json(transformer::read_config(core::Json::object(), "model"));
  const core::Json expected = {
      {"d_model", 512},
      {"heads", 8},
      {"feed_forward", 2048},
      {"encoder_layers", 6},
      {"decoder_layers", 6},
      {"norm", "pre"},
      {"final_norm", true},
      {"layer_norm_epsilon", 1e-5},
      {"activation", "relu"},
      {"positions", "sinusoidal-interleaved"},
      {"position_offset", 0},
      {"embedding_scale", true},
      {"embedding_norm", false},
      {"tying", "all"},
      {"output_bias", false},
      {"dropout", {{"embedding", 0.1}, {"sub_layer", 0.1}, {"activation", 0.0}, {"attention", 0.0}, {"layer", 0.0}}},
      {"alignment_layer", -1},
      {"alignment_heads", 1}};
  for (const auto& [key, value] : expected.items()) {
    ASSERT_TRUE(defaults.contains(key)) << key;
    EXPECT_EQ(defaults[key], value) << key;
  }
  const auto post = transformer::to_json(transformer::read_config({{"norm", "post"}}, "model"));
  EXPECT_EQ(post["final_norm"], false) << "the paper's norms, and no other";
  // 65 million parameters with its vocabulary of 37,000 pieces.
  const auto base =
      transformer::make_transformer({.source_vocabulary = 37000, .target_vocabulary = 37000}, {{"norm", "post"}});
  EXPECT_EQ(base->parameters().count(), 37000 * 512 + 6 * 3152384 + 6 * 4204032);
}

}  // namespace
}  // namespace dragoman::testing

#include "error_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/transformer/config.h>
#include <dragoman/transformer/transformer.h>

namespace dragoman::transformer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string config_error(const core::Json& json) {
  return testing::error_of([&] { read_config(json, "config.json: model"); });
}

TEST(TransformerConfig, EveryKeySurvivesTheRoundTrip) {
  const core::Json json = {
      {"d_model", 24},
      {"heads", 3},
      {"feed_forward", 40},
      {"encoder_layers", 5},
      {"decoder_layers", 2},
      {"encoder_tied_layers", {0, 1, 1, 0, 2}},
      {"decoder_tied_layers", {0, 0}},
      {"norm", "post"},
      {"final_norm", true},
      {"layer_norm_epsilon", 1e-6},
      {"query_scaling", "early"},
      {"activation", "swiglu"},
      {"positions", "sinusoidal-tensor2tensor"},
      {"position_offset", 2},
      {"position_base", 500.0},
      {"embedding_scale", false},
      {"embedding_norm", true},
      {"tying", "target-output"},
      {"init", "xavier-uniform"},
      {"output_width", 24},
      {"output_bias", true},
      {"dropout", {{"embedding", 0.1}, {"sub_layer", 0.2}, {"activation", 0.3}, {"attention", 0.4}, {"layer", 0.5}}},
      {"alignment_layer", 1},
      {"alignment_heads", 2}};
  EXPECT_EQ(to_json(read_config(json, "test")), json);
}

TEST(TransformerConfig, FinalNormFollowsThePlaceOfTheNorm) {
  EXPECT_TRUE(read_config({{"norm", "pre"}}, "test").final_norm);
  EXPECT_FALSE(read_config({{"norm", "post"}}, "test").final_norm);
}

TEST(TransformerConfig, AMistypedKeyIsAnErrorWithASuggestion) {
  EXPECT_THAT(config_error({{"d_modle", 8}}), HasSubstr("did you mean 'd_model'"));
}

TEST(TransformerConfig, ErrorsNameThePlaceAndTheRemedy) {
  EXPECT_THAT(config_error({{"d_model", 10}, {"heads", 3}}), HasSubstr("heads: must divide d_model"));
  EXPECT_THAT(config_error({{"norm", "middle"}}), HasSubstr("pre, post"));
  EXPECT_THAT(config_error({{"dropout", 1.0}}), HasSubstr("dropout: "));
  EXPECT_THAT(config_error({{"dropout", {{"attention", -0.1}}}}), HasSubstr("dropout: attention"));
  EXPECT_THAT(config_error({{"dropout", {{"atention", 0.1}}}}), HasSubstr("did you mean 'attention'"));
  EXPECT_THAT(config_error({{"heads", 0}}), HasSubstr("heads"));
  EXPECT_THAT(config_error({{"layer_norm_epsilon", 0}}), HasSubstr("layer_norm_epsilon"));
  EXPECT_THAT(config_error({{"output_width", 8}, {"d_model", 16}}),
              AllOf(HasSubstr("output_width: is 8"), HasSubstr("of d_model 16"), HasSubstr("source-target")));
  EXPECT_THAT(config_error({{"output_width", 8}, {"tying", "target-output"}}), HasSubstr("output_width"));
  EXPECT_EQ(read_config({{"output_width", 8}, {"tying", "source-target"}}, "test").output_width, 8);
  EXPECT_THAT(config_error({{"position_base", 1}}), HasSubstr("position_base"));
  EXPECT_THAT(config_error({{"position_base", 500}, {"positions", "learned"}}), HasSubstr("positions are learned"));
  EXPECT_THAT(config_error({{"encoder_layers", 1025}}), HasSubstr("encoder_layers"));
  EXPECT_THAT(config_error({{"d_model", "wide"}}), HasSubstr("whole number"));
}

TEST(TransformerConfig, TiedLayersAreNumberedInTheOrderOfTheirFirstUse) {
  const auto tied = [](const core::Json& layers) {
    return config_error({{"encoder_layers", 4}, {"encoder_tied_layers", layers}});
  };
  EXPECT_THAT(tied({0, 0, 1}), HasSubstr("encoder_tied_layers: has 3 numbers for 4 layers"));
  EXPECT_THAT(tied({1, 1, 2, 2}), HasSubstr("has 1 where at most 0 can stand"));
  EXPECT_THAT(tied({0, 0, 2, 1}), HasSubstr("has 2 where at most 1 can stand"));
  EXPECT_THAT(tied({0, -1, 0, 0}), HasSubstr("from 0 to 1023"));
  EXPECT_THAT(tied({0, 0.5, 0, 0}), HasSubstr("whole numbers"));
  EXPECT_THAT(tied("0011"), HasSubstr("a list"));
  EXPECT_EQ(read_config({{"encoder_layers", 4}, {"encoder_tied_layers", {0, 1, 1, 0}}}, "test").encoder_tied_layers,
            (std::vector<int>{0, 1, 1, 0}));
}

TEST(TransformerConfig, OneTableForTwoVocabulariesIsRefused) {
  const nn::SequenceSpec spec{.source_vocabulary = 10, .target_vocabulary = 12};
  EXPECT_THROW(make_transformer(spec, {{"tying", "all"}}), core::Error);
}

}  // namespace
}  // namespace dragoman::transformer

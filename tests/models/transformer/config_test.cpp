#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/nn/positions.h>
#include <dragoman/transformer/config.h>
#include <dragoman/transformer/transformer.h>

namespace dragoman::transformer {
namespace {

using ::testing::HasSubstr;

std::string error_of(const core::Json& json) {
  try {
    read_config(json, "config.json: model");
  } catch (const core::Error& error) {
    return error.what();
  }
  return "";
}

TEST(TransformerConfig, EveryKeySurvivesTheRoundTrip) {
  const core::Json json = {
      {"d_model", 24},
      {"heads", 3},
      {"feed_forward", 40},
      {"encoder_layers", 5},
      {"decoder_layers", 2},
      {"norm", "post"},
      {"final_norm", true},
      {"layer_norm_epsilon", 1e-6},
      {"activation", "swiglu"},
      {"positions", "sinusoidal-tensor2tensor"},
      {"position_offset", 2},
      {"embedding_scale", false},
      {"embedding_norm", true},
      {"tying", "target-output"},
      {"output_bias", true},
      {"dropout", {{"embedding", 0.1}, {"sub_layer", 0.2}, {"activation", 0.3}, {"attention", 0.4}}},
      {"alignment_layer", 1},
      {"alignment_heads", 2}};
  EXPECT_EQ(to_json(read_config(json, "test")), json);
}

TEST(TransformerConfig, FinalNormFollowsThePlaceOfTheNorm) {
  EXPECT_TRUE(read_config({{"norm", "pre"}}, "test").final_norm);
  EXPECT_FALSE(read_config({{"norm", "post"}}, "test").final_norm);
}

TEST(TransformerConfig, AMistypedKeyIsAnErrorWithASuggestion) {
  EXPECT_THAT(error_of({{"d_modle", 8}}), HasSubstr("did you mean 'd_model'"));
}

TEST(TransformerConfig, ErrorsNameThePlaceAndTheRemedy) {
  EXPECT_THAT(error_of({{"d_model", 10}, {"heads", 3}}), HasSubstr("heads: must divide d_model"));
  EXPECT_THAT(error_of({{"norm", "middle"}}), HasSubstr("pre, post"));
  EXPECT_THAT(error_of({{"dropout", 1.0}}), HasSubstr("[0, 1)"));
  EXPECT_THAT(error_of({{"d_model", "wide"}}), HasSubstr("whole number"));
}

TEST(TransformerConfig, OneTableForTwoVocabulariesIsRefused) {
  const nn::SequenceSpec spec{.source_vocabulary = 10, .target_vocabulary = 12};
  EXPECT_THROW(make_transformer(spec, {{"tying", "all"}}), core::Error);
}

/// Vaswani et al. 2017, section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/d)). Some write-ups print the base 1000, others
/// double the exponent because their index is already even: with d = 4 the second frequency is 1/100, not 1/31.6 (base
/// 1000) and not 1/10000 (doubled).
TEST(Positions, InterleavedAsInThePaper) {
  const std::vector<double> table = nn::sinusoidal_positions(nn::PositionKind::kInterleaved, 4, 4);
  for (int position = 0; position < 4; ++position) {
    EXPECT_DOUBLE_EQ(table[position * 4 + 0], std::sin(position));
    EXPECT_DOUBLE_EQ(table[position * 4 + 1], std::cos(position));
    EXPECT_DOUBLE_EQ(table[position * 4 + 2], std::sin(position * 0.01));
    EXPECT_DOUBLE_EQ(table[position * 4 + 3], std::cos(position * 0.01));
  }
}

TEST(Positions, ConcatenatedHoldsTheSameNumbersInAnotherOrder) {
  const std::vector<double> interleaved = nn::sinusoidal_positions(nn::PositionKind::kInterleaved, 3, 6);
  const std::vector<double> concatenated = nn::sinusoidal_positions(nn::PositionKind::kConcatenated, 3, 6);
  for (int position = 0; position < 3; ++position)
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(concatenated[position * 6 + i], interleaved[position * 6 + 2 * i]);
      EXPECT_EQ(concatenated[position * 6 + 3 + i], interleaved[position * 6 + 2 * i + 1]);
    }
}

/// tensor2tensor and fairseq divide by d/2 - 1, so that the last frequency is exactly 1/10000.
TEST(Positions, Tensor2TensorReachesTheLastFrequency) {
  const std::vector<double> table = nn::sinusoidal_positions(nn::PositionKind::kTensor2Tensor, 2, 8);
  EXPECT_NEAR(table[8 + 3], std::sin(1e-4), 1e-15);
}

/// PE(pos + k) is a linear function of PE(pos): each (sin, cos) pair is rotated by the same angle (field lore of the
/// paper's section 3.5).
TEST(Positions, AShiftIsARotation) {
  constexpr int kShift = 5;
  const std::vector<double> table = nn::sinusoidal_positions(nn::PositionKind::kInterleaved, 20, 8);
  for (int i = 0; i < 8; i += 2) {
    const double sine = table[kShift * 8 + i];
    const double cosine = table[kShift * 8 + i + 1];
    for (int position = 0; position < 15; ++position) {
      const double s = table[position * 8 + i];
      const double c = table[position * 8 + i + 1];
      EXPECT_NEAR(table[(position + kShift) * 8 + i], s * cosine + c * sine, 1e-12);
      EXPECT_NEAR(table[(position + kShift) * 8 + i + 1], c * cosine - s * sine, 1e-12);
    }
  }
}

}  // namespace
}  // namespace dragoman::transformer

#include "dragoman/nn/positions.h"

#include "nn_harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::nn {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

/// Vaswani et al. 2017, section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/d)). Some write-ups print the base 1000, others
/// double the exponent because their index is already even: with d = 4 the second frequency is 1/100, not 1/31.6 (base
/// 1000) and not 1/10000 (doubled).
TEST(Positions, InterleavedAsInThePaper) {
  const std::vector<double> table = sinusoidal_positions(PositionKind::kInterleaved, 4, 4);
  for (int position = 0; position < 4; ++position) {
    EXPECT_DOUBLE_EQ(table[position * 4 + 0], std::sin(position));
    EXPECT_DOUBLE_EQ(table[position * 4 + 1], std::cos(position));
    EXPECT_DOUBLE_EQ(table[position * 4 + 2], std::sin(position * 0.01));
    EXPECT_DOUBLE_EQ(table[position * 4 + 3], std::cos(position * 0.01));
  }
}

TEST(Positions, ConcatenatedHoldsTheSameNumbersInAnotherOrder) {
  const std::vector<double> interleaved = sinusoidal_positions(PositionKind::kInterleaved, 3, 6);
  const std::vector<double> concatenated = sinusoidal_positions(PositionKind::kConcatenated, 3, 6);
  for (int position = 0; position < 3; ++position)
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(concatenated[position * 6 + i], interleaved[position * 6 + 2 * i]);
      EXPECT_EQ(concatenated[position * 6 + 3 + i], interleaved[position * 6 + 2 * i + 1]);
    }
}

/// tensor2tensor and fairseq divide by d/2 - 1, so that the last frequency is exactly 1/10000.
TEST(Positions, Tensor2TensorReachesTheLastFrequency) {
  const std::vector<double> table = sinusoidal_positions(PositionKind::kTensor2Tensor, 2, 8);
  EXPECT_NEAR(table[8 + 3], std::sin(1e-4), 1e-15);
}

/// With the base 100 and d = 4 the second frequency is 100^(-2/4) = 1/10; of tensor2tensor's the last one is 1/base.
TEST(Positions, EveryKindTakesAnotherBase) {
  const std::vector<double> interleaved = sinusoidal_positions(PositionKind::kInterleaved, 3, 4, 100);
  const std::vector<double> concatenated = sinusoidal_positions(PositionKind::kConcatenated, 3, 4, 100);
  const std::vector<double> tensor2tensor = sinusoidal_positions(PositionKind::kTensor2Tensor, 3, 4, 100);
  EXPECT_NEAR(interleaved[8 + 2], std::sin(0.2), 1e-15);
  EXPECT_NEAR(concatenated[8 + 3], std::cos(0.2), 1e-15);
  EXPECT_NEAR(tensor2tensor[8 + 1], std::sin(0.02), 1e-15);
}

/// PE(pos + k) is a linear function of PE(pos): each (sin, cos) pair is rotated by the same angle (field lore of the
/// paper's section 3.5).
TEST(Positions, AShiftIsARotation) {
  constexpr int kShift = 5;
  const std::vector<double> table = sinusoidal_positions(PositionKind::kInterleaved, 20, 8);
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

TEST(Positions, OnlySinusoidsOfEvenWidthCanBeComputed) {
  EXPECT_THAT(error_of([] { sinusoidal_positions(PositionKind::kInterleaved, 2, 5); }), HasSubstr("not 5"));
  EXPECT_THAT(error_of([] { sinusoidal_positions(PositionKind::kLearned, 2, 4); }), HasSubstr("no sinusoids"));
}

/// The frequencies of tensor2tensor divide by width / 2 - 1, which is 0 here.
TEST(Positions, TheNarrowestTableHasOneFrequency) {
  for (const auto& [name, kind] : position_kinds()) {
    if (kind == PositionKind::kLearned) continue;
    EXPECT_EQ(sinusoidal_positions(kind, 3, 2)[4], std::sin(2.0)) << name;
  }
}

}  // namespace
}  // namespace dragoman::nn

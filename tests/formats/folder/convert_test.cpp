#include "convert.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>

namespace dragoman::formats {
namespace {

using tensor::DType;

std::uint16_t encode(double value, DType dtype) {
  std::uint16_t bits = 0;
  convert(DType::kF64, reinterpret_cast<const std::byte*>(&value), dtype, reinterpret_cast<std::byte*>(&bits), 1);
  return bits;
}

double decode(std::uint16_t bits, DType dtype) {
  double value = 0;
  convert(dtype, reinterpret_cast<const std::byte*>(&bits), DType::kF64, reinterpret_cast<std::byte*>(&value), 1);
  return value;
}

class SixteenBits : public ::testing::TestWithParam<DType> {
 protected:
  /// Exponent and mantissa bits of the type: every finite positive pattern is below this one, which is infinity.
  std::uint16_t infinity() const { return GetParam() == DType::kF16 ? 0x7C00 : 0x7F80; }
};

INSTANTIATE_TEST_SUITE_P(All, SixteenBits, ::testing::Values(DType::kF16, DType::kBF16),
                         [](const auto& type) { return std::string(tensor::name_of(type.param)); });

TEST_P(SixteenBits, EveryPatternSurvivesTheWayThereAndBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double value = decode(static_cast<std::uint16_t>(bits), GetParam());
    const std::uint16_t again = encode(value, GetParam());
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(decode(again, GetParam()))) << bits;
    } else {
      ASSERT_EQ(again, bits);
    }
  }
}

// The oracle needs no knowledge of the encoding: between two neighbours, values below the midpoint go down, above it
// up, and the midpoint goes to the one with the even pattern. Midpoints and their double neighbours are where rounding
// twice would go wrong.
TEST_P(SixteenBits, RoundsOnceToTheNearestAndTiesToEven) {
  for (std::uint16_t bits = 0; bits + 1 < infinity(); ++bits) {
    const double low = decode(bits, GetParam());
    const double high = decode(static_cast<std::uint16_t>(bits + 1), GetParam());
    const double middle = low + (high - low) / 2;
    ASSERT_EQ(encode(std::nextafter(middle, 0.0), GetParam()), bits) << low;
    ASSERT_EQ(encode(std::nextafter(middle, 1e300), GetParam()), bits + 1) << low;
    ASSERT_EQ(encode(middle, GetParam()), bits % 2 == 0 ? bits : bits + 1) << low;
    ASSERT_EQ(encode(-middle, GetParam()), (bits % 2 == 0 ? bits : bits + 1) | 0x8000) << low;
  }
}

TEST_P(SixteenBits, LargeValuesBecomeInfinity) {
  const double largest = decode(static_cast<std::uint16_t>(infinity() - 1), GetParam());
  const double step = largest - decode(static_cast<std::uint16_t>(infinity() - 2), GetParam());
  EXPECT_EQ(encode(std::nextafter(largest + step / 2, 0.0), GetParam()), infinity() - 1);
  EXPECT_EQ(encode(largest + step / 2, GetParam()), infinity());
  for (const double value : {1e39, 1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(encode(value, GetParam()), infinity()) << value;
    EXPECT_EQ(encode(-value, GetParam()), infinity() | 0x8000) << value;
  }
}

TEST(Convert, BetweenFloatAndDoubleIsTheCastOfTheLanguage) {
  const std::vector<double> values{0.1, -1e-40, 1e39, 16777217, -0.0};
  std::vector<float> floats(values.size());
  convert(DType::kF64, reinterpret_cast<const std::byte*>(values.data()), DType::kF32,
          reinterpret_cast<std::byte*>(floats.data()), 5);
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(floats[i]), std::bit_cast<std::uint32_t>(static_cast<float>(values[i])));
}

TEST(Convert, NeedsNoAlignment) {
  std::vector<std::byte> source(1 + 3 * sizeof(float));
  std::vector<std::byte> destination(1 + 3 * sizeof(double));
  const std::vector<float> values{1.5F, -2.25F, 1e-30F};
  convert(DType::kF32, reinterpret_cast<const std::byte*>(values.data()), DType::kF32, source.data() + 1, 3);
  convert(DType::kF32, source.data() + 1, DType::kF64, destination.data() + 1, 3);
  std::vector<double> result(3);
  convert(DType::kF64, destination.data() + 1, DType::kF64, reinterpret_cast<std::byte*>(result.data()), 3);
  EXPECT_EQ(result, (std::vector<double>{1.5, -2.25, 1e-30F}));
}

TEST(Convert, RefusesIntegers) {
  const std::int32_t one = 1;
  float result = 0;
  EXPECT_THROW(convert(DType::kI32, reinterpret_cast<const std::byte*>(&one), DType::kF32,
                       reinterpret_cast<std::byte*>(&result), 1),
               core::Error);
}

}  // namespace
}  // namespace dragoman::formats

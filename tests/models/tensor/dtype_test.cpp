#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/random.h>
#include <dragoman/tensor/dtype.h>

namespace dragoman::tensor {
namespace {

/// What a 16-bit float is worth, from its definition: (-1)^s * 2^(e - bias) * 1.m, or 2^(1 - bias) * 0.m if e is 0. Not
/// for e all ones.
double value_by_definition(std::uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double mantissa = (bits & ((1 << mantissa_bits) - 1)) / std::ldexp(1, mantissa_bits);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - bias) : std::ldexp(1 + mantissa, exponent - bias);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

struct Format {
  const char* name;
  int exponent_bits;
  int mantissa_bits;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(float);

  std::uint16_t infinity() const { return static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits); }
};

void PrintTo(const Format& format, std::ostream* out) {
  *out << format.name;
}

class SixteenBits : public ::testing::TestWithParam<Format> {
 protected:
  bool is_nan(std::uint16_t bits) const { return (bits & 0x7FFF) > GetParam().infinity(); }

  /// Every value from 0 to the largest finite one, in order; index = bits.
  std::vector<double> values_by_definition() const {
    std::vector<double> values;
    for (std::uint16_t bits = 0; bits < GetParam().infinity(); ++bits)
      values.push_back(value_by_definition(bits, GetParam().exponent_bits, GetParam().mantissa_bits));
    return values;
  }

  /// The nearest of all representable values, ties to the even bits; found by search, not by arithmetic on bits.
  std::uint16_t nearest(const std::vector<double>& values, double magnitude) const {
    const auto above = std::lower_bound(values.begin(), values.end(), magnitude);
    if (above == values.begin()) return 0;
    const auto low = static_cast<std::uint16_t>(above - values.begin() - 1);
    const auto high =
        static_cast<std::uint16_t>(low + 1);  // past the end: infinity, which begins where the next value would be
    const double high_value = above == values.end() ? 2 * values.back() - values[values.size() - 2] : *above;
    const double to_low = magnitude - values[low];
    const double to_high = high_value - magnitude;
    if (to_low != to_high) return to_low < to_high ? low : high;
    return low % 2 == 0 ? low : high;
  }
};

INSTANTIATE_TEST_SUITE_P(DType, SixteenBits,
                         ::testing::Values(Format{"f16", 5, 10, f16_to_f32, f32_to_f16},
                                           Format{"bf16", 8, 7, bf16_to_f32, f32_to_bf16}),
                         [](const auto& test) { return test.param.name; });

TEST_P(SixteenBits, EveryPatternIsWorthWhatItsDefinitionSays) {
  for (int bits = 0; bits < 65536; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const float value = GetParam().widen(pattern);
    if (is_nan(pattern)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
    } else if ((pattern & 0x7FFF) == GetParam().infinity()) {
      EXPECT_TRUE(std::isinf(value)) << bits;
    } else {
      const double expected = value_by_definition(pattern, GetParam().exponent_bits, GetParam().mantissa_bits);
      EXPECT_EQ(static_cast<double>(value), expected) << bits;
    }
    EXPECT_EQ(std::signbit(value), bits >= 0x8000) << bits;
  }
}

TEST_P(SixteenBits, EveryPatternSurvivesTheRoundTrip) {
  for (int bits = 0; bits < 65536; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const std::uint16_t back = GetParam().narrow(GetParam().widen(pattern));
    if (is_nan(pattern))
      EXPECT_TRUE(is_nan(back)) << bits;
    else
      EXPECT_EQ(back, pattern);
  }
}

TEST_P(SixteenBits, RoundsToTheNearestAndTiesToEven) {
  const std::vector<double> values = values_by_definition();
  const auto check = [&](float value) {
    const std::uint16_t expected = nearest(values, std::abs(static_cast<double>(value)));
    EXPECT_EQ(GetParam().narrow(value), expected | (std::signbit(value) ? 0x8000 : 0)) << value;
  };
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    // Half-way points, which a float holds exactly for all but the smallest bf16, and their neighbours.
    const auto middle = static_cast<float>((values[i] + values[i + 1]) / 2);
    check(middle);
    check(-middle);
    check(std::nextafter(middle, 0.0F));
    check(std::nextafter(middle, std::numeric_limits<float>::max()));
  }
}

TEST_P(SixteenBits, RoundsRandomFloatsLikeTheSearch) {
  const std::vector<double> values = values_by_definition();
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const auto value = std::bit_cast<float>(core::random_block(1, 2, i)[0]);
    if (std::isnan(value) || std::isinf(value)) continue;
    const std::uint16_t expected = nearest(values, std::min(std::abs(static_cast<double>(value)), 4 * values.back()));
    ASSERT_EQ(GetParam().narrow(value), expected | (std::signbit(value) ? 0x8000 : 0)) << value;
  }
}

TEST_P(SixteenBits, KeepsTheSpecials) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(GetParam().narrow(infinity), GetParam().infinity());
  EXPECT_EQ(GetParam().narrow(-infinity), GetParam().infinity() | 0x8000);
  EXPECT_EQ(GetParam().narrow(std::numeric_limits<float>::max()), GetParam().infinity());
  EXPECT_EQ(GetParam().narrow(-0.0F), 0x8000);
  EXPECT_EQ(GetParam().narrow(std::numeric_limits<float>::denorm_min()), 0) << "too small for either";
  for (const std::uint32_t nan : {0x7FC00000U, 0x7F800001U, 0xFFFFFFFFU})
    EXPECT_TRUE(is_nan(GetParam().narrow(std::bit_cast<float>(nan)))) << std::hex << nan;
}

TEST(DType, NamesAndSizesAreThoseOfSafetensors) {
  EXPECT_EQ(name_of(DType::kF32), "F32");
  EXPECT_EQ(name_of(DType::kBF16), "BF16");
  EXPECT_EQ(size_of(DType::kF64), 8U);
  EXPECT_EQ(size_of(DType::kF32), 4U);
  EXPECT_EQ(size_of(DType::kF16), 2U);
  EXPECT_EQ(size_of(DType::kBF16), 2U);
  EXPECT_EQ(size_of(DType::kI32), 4U);
  EXPECT_EQ(size_of(DType::kI8), 1U);
}

}  // namespace
}  // namespace dragoman::tensor

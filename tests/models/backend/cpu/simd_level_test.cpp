#include "packing/packed_weight.h"
#include "support.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include <dragoman/core/random.h>
#include <dragoman/ops/adam.h>
#include <dragoman/ops/attention.h>
#include <dragoman/ops/dropout.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/embedding.h>
#include <dragoman/ops/layer_norm.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/project_top_k.h>
#include <dragoman/ops/softmax_cross_entropy.h>

namespace dragoman::backend::cpu {
namespace {

/// The documented mask, one element at a time.
constexpr tensor::RandomKey kRandomKey{1, 2};
constexpr tensor::RandomState kRandom{&kRandomKey, 3};

bool kept(const tensor::RandomState& random, double rate, std::uint64_t element) {
  const core::RandomBlock block = core::random_block(random.key->seed, ops::random_stream(random), element / 8);
  const std::uint32_t word = block[element % 8 / 2];
  const std::uint32_t lane = element % 2 == 0 ? word & 0xFFFF : word >> 16;
  return lane >= ops::dropout_threshold(rate);
}

TEST(SimdLevel, EveryLevelDrawsTheDocumentedDropoutMask) {
  const tensor::RandomKey key{0x123456789ABCDEF0, 0x1F2E3D4C5B6A};
  const tensor::RandomState random{&key, 17};
  constexpr std::int64_t kRows = 5;
  for (const SimdLevel level : kAllLevels) {
    const LevelScope scope(level);
    // Widths at which rows begin inside of a block of eight, and longer than one chunk of the kernel.
    for (const std::int64_t cols : {1, 3, 8, 13, 64, 511, 512, 513, 1100}) {
      Matrix x(kRows, cols, std::vector<float>(static_cast<std::size_t>(kRows * cols), 1.0F), 2);
      Matrix y(kRows, cols, 7);
      Rig rig;
      rig.run(ops::kDropout, ops::DropoutArguments{x, 0.3, random, y});
      EXPECT_TRUE(y.gaps_untouched());
      const auto scale = static_cast<float>(ops::dropout_scale(0.3));
      for (std::int64_t r = 0; r < kRows; ++r)
        for (std::int64_t c = 0; c < cols; ++c)
          ASSERT_EQ(y.at(r, c), kept(random, 0.3, static_cast<std::uint64_t>(r * cols + c)) ? scale : 0.0F)
              << "row " << r << ", column " << c << " of " << cols << " at " << simd_level();
    }
  }
}

/// Runs `compute(rig)` at each level and compares with the best one.
template <class Compute>
void expect_levels_agree(const Compute& compute) {
  std::vector<float> expected;
  for (const SimdLevel level : kAllLevels) {
    const LevelScope scope(level);
    Rig rig;
    const std::vector<float> actual = compute(rig);
    if (expected.empty()) expected = actual;
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
      ASSERT_NEAR(actual[i], expected[i], 1e-5 * (1 + std::abs(expected[i])))
          << "element " << i << " at " << simd_level();
  }
}

TEST(SimdLevel, LevelsAgreeOnLayerNormOfAnyWidth) {
  for (const std::int64_t cols : {1, 5, 16, 31, 33, 256, 600}) {
    Matrix x(3, cols, random_floats(3 * cols, 1), 1);
    Matrix gain(1, cols, random_floats(cols, 2));
    Matrix bias(1, cols, random_floats(cols, 3));
    Matrix dy(3, cols, random_floats(3 * cols, 4), 3);
    expect_levels_agree([&](Rig& rig) {
      Matrix y(3, cols, 2), mean(3, 1), deviation(3, 1), dx(3, cols), dgain(1, cols), dbias(1, cols);
      rig.run(ops::kLayerNorm, ops::LayerNormArguments{x, gain, bias, 1e-2, y, mean, deviation});
      rig.run(ops::kLayerNormBackward, ops::LayerNormBackwardArguments{
                                           x, gain, mean, deviation, dy, {dx, false}, {dgain, false}, {dbias, false}});
      EXPECT_TRUE(y.gaps_untouched());
      std::vector<float> result = y.values();
      for (Matrix* part : {&dx, &dgain, &dbias})
        for (const float value : part->values()) result.push_back(value);
      return result;
    });
  }
}

TEST(SimdLevel, LevelsAgreeOnAttentionWithOddHeads) {
  const std::vector<std::int32_t> q_offsets = {0, 3, 21, 22};
  const std::vector<std::int32_t> k_offsets = {0, 17, 35, 36};
  const std::vector<std::int64_t> weights = {0, 3 * 3 * 17, 3 * 3 * 17 + 3 * 18 * 18, 3 * 3 * 17 + 3 * 18 * 18 + 3};
  for (const std::int64_t head_size : {1, 6, 16, 19, 64, 70}) {
    const std::int64_t cols = 3 * head_size;
    Matrix q(22, cols, random_floats(22 * cols, 1), 5);
    Matrix k(36, cols, random_floats(36 * cols, 2), 4);
    Matrix v(36, cols, random_floats(36 * cols, 3), 3);
    Matrix dy(22, cols, random_floats(22 * cols, 4), 2);
    expect_levels_agree([&](Rig& rig) {
      Matrix y(22, cols, 1), dq(22, cols, 1), dk(36, cols, 1), dv(36, cols, 1), probabilities(1, weights.back());
      const ops::AttentionArguments forward{.q = q,
                                            .k = k,
                                            .v = v,
                                            .q_offsets = array(q_offsets),
                                            .k_offsets = array(k_offsets),
                                            .heads = 3,
                                            .causal = true,
                                            .rate = 0.2,
                                            .random = kRandom,
                                            .probabilities = probabilities,
                                            .y = y};
      rig.run(ops::kAttention, forward);
      rig.run(ops::kAttentionBackward,
              ops::AttentionBackwardArguments{forward, dy, {dq, false}, {dk, false}, {dv, false}});
      std::vector<float> result;
      for (Matrix* part : {&y, &dq, &dk, &dv}) {
        EXPECT_TRUE(part->gaps_untouched());
        for (const float value : part->values()) result.push_back(value);
      }
      return result;
    });
  }
}

TEST(SimdLevel, LevelsAgreeOnCachedAttentionOverScatteredRows) {
  std::vector<std::int32_t> rows = {17, 3, 4, 11, 0, 9, 18, 1, 2};
  for (std::int32_t row = 2; row < 20; ++row) rows.push_back(row);
  rows.push_back(7);
  const std::vector<ops::KeyRange> ranges = {{0, 9}, {9, 18}, {27, 1}};
  for (const std::int64_t head_size : {1, 5, 16, 24, 32, 64}) {
    const std::int64_t cols = 2 * head_size;
    Matrix keys(20, cols, random_floats(20 * cols, 10), 3);
    Matrix values(20, cols, random_floats(20 * cols, 20), 3);
    Matrix q(3, cols, random_floats(3 * cols, 1), 2);
    expect_levels_agree([&](Rig& rig) {
      Matrix y(3, cols, 1);
      rig.run(ops::kCachedAttention,
              ops::CachedAttentionArguments{q, keys, values, array(rows), array(ranges), 18, 2, {}, y});
      EXPECT_TRUE(y.gaps_untouched());
      return y.values();
    });
  }
}

TEST(SimdLevel, LevelsAgreeOnCrossEntropy) {
  const std::vector<std::int32_t> targets = {0, 36, 12};
  for (const std::int64_t cols : {37, 64, 300}) {
    const std::vector<float> logits = random_floats(3 * cols, 1);
    expect_levels_agree([&](Rig& rig) {
      Matrix rows(3, cols, logits, 2);
      std::vector<double> loss(3), nll(3);
      const std::vector<double> scale{0.5};
      rig.run(ops::kCrossEntropyRows,
              ops::CrossEntropyRowsArguments{rows, array(targets), 0.1, array(scale), doubles(loss), doubles(nll)});
      EXPECT_TRUE(rows.gaps_untouched());
      std::vector<float> result = rows.values();
      for (std::size_t r = 0; r < 3; ++r) {
        result.push_back(static_cast<float>(loss[r]));
        result.push_back(static_cast<float>(nll[r]));
      }
      return result;
    });
  }
}

TEST(SimdLevel, LevelsAgreeOnEmbeddings) {
  const std::vector<std::int32_t> ids = {4, 0, 4, 2, 1};
  const std::vector<std::int32_t> positions = {0, 1, 2, 0, 1};
  for (const std::int64_t cols : {3, 16, 77, 130}) {
    Matrix table(5, cols, random_floats(5 * cols, 1), 2);
    Matrix position_table(3, cols, random_floats(3 * cols, 2), 1);
    Matrix dy(5, cols, random_floats(5 * cols, 3), 4);
    expect_levels_agree([&](Rig& rig) {
      Matrix y(5, cols, 3), dtable(5, cols, 1);
      rig.run(ops::kEmbedding,
              ops::EmbeddingArguments{array(ids), table, 2.5, array(positions), position_table, 0, 0.25, kRandom, y});
      rig.run(ops::kEmbeddingBackward,
              ops::EmbeddingBackwardArguments{array(ids), 0, dy, 2.5, 0.25, kRandom, {dtable, false}});
      EXPECT_TRUE(y.gaps_untouched());
      EXPECT_TRUE(dtable.gaps_untouched());
      std::vector<float> result = y.values();
      for (const float value : dtable.values()) result.push_back(value);
      return result;
    });
  }
}

TEST(SimdLevel, LevelsAgreeOnElementwiseKernels) {
  for (const std::int64_t cols : {1, 7, 16, 33, 70}) {
    Matrix a(4, cols, random_floats(4 * cols, 1), 1);
    Matrix b(4, cols, random_floats(4 * cols, 2), 2);
    Matrix row(1, cols, random_floats(cols, 3));
    expect_levels_agree([&](Rig& rig) {
      Matrix sum(4, cols, 3), product(4, cols, 3), shifted(4, cols, 3), total(1, cols, random_floats(cols, 4));
      rig.run(ops::kAdd, ops::AddArguments{a, b, sum});
      rig.run(ops::kMultiply, ops::MultiplyArguments{a, b, product});
      rig.run(ops::kMultiply, ops::MultiplyArguments{sum, b, product, true});
      rig.run(ops::kAddRow, ops::AddRowArguments{product, row, shifted});
      rig.run(ops::kScale, ops::ScaleArguments{sum, -0.75, shifted, true});
      rig.run(ops::kColumnSum, ops::ColumnSumArguments{shifted, total, true});
      EXPECT_TRUE(sum.gaps_untouched() && product.gaps_untouched() && shifted.gaps_untouched());
      std::vector<float> result = shifted.values();
      for (const float value : total.values()) result.push_back(value);
      return result;
    });
  }
}

TEST(SimdLevel, LevelsAgreeOnAdam) {
  constexpr std::int64_t kCount = 1003;
  expect_levels_agree([&](Rig& rig) {
    Matrix parameters(1, kCount, random_floats(kCount, 1)), gradients(1, kCount, random_floats(kCount, 2));
    Matrix first(1, kCount, random_floats(kCount, 3)), second(1, kCount, std::vector<float>(kCount, 0.25F));
    const std::vector<ops::UpdateStep> step{{.learning_rate = 0.1, .step = 5}};
    rig.run(ops::kAdam, ops::AdamArguments{.parameters = parameters,
                                           .gradients = gradients,
                                           .first_moment = first,
                                           .second_moment = second,
                                           .weight_decay = 0.01,
                                           .step = array(step)});
    return parameters.values();
  });
}

/// With noise only an estimate of most tokens' noise is looked at; what is found must still be what all the exact noise
/// gives.
TEST(SimdLevel, EveryLevelFindsTheBestOfAllTokensWithTheExactNoise) {
  constexpr std::int64_t kRows = 40;
  constexpr std::int64_t kInputs = 8;
  constexpr std::int64_t kVocabulary = 5003;
  constexpr std::int64_t kBest = 7;
  Rig rig;
  Matrix hidden(kRows, kInputs, random_floats(kRows * kInputs, 1));
  Matrix weight(kVocabulary, kInputs, random_floats(kVocabulary * kInputs, 2));
  std::vector<ops::RowNoise> noise;
  for (std::uint64_t r = 0; r < kRows; ++r) noise.push_back({.seed = 3, .stream = (r << 33) + r, .step = 1000 * r});
  const auto find = [&](std::int64_t k, const std::vector<ops::RowNoise>& row_noise) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(kRows * k));
    Matrix log_probabilities(kRows, k);
    rig.run(ops::kProjectTopK,
            ops::ProjectTopKArguments{.hidden = hidden,
                                      .weight = weight,
                                      .k = k,
                                      .noise = array(row_noise),
                                      .tokens = {tokens.data(), kRows, k, k, tensor::DType::kI32, tensor::Device::kCpu},
                                      .log_probabilities = log_probabilities});
    return std::pair(tokens, log_probabilities.values());
  };
  const auto [all_tokens, all_log_probabilities] = find(kVocabulary, {});
  std::vector<std::int32_t> expected;
  for (std::size_t r = 0; r < kRows; ++r) {
    std::vector<std::pair<double, std::int32_t>> ranking;
    for (std::size_t i = r * kVocabulary; i < (r + 1) * kVocabulary; ++i)
      ranking.emplace_back(
          -(static_cast<double>(all_log_probabilities[i]) + ops::gumbel_noise(noise[r], kVocabulary, all_tokens[i])),
          all_tokens[i]);
    std::sort(ranking.begin(), ranking.end());
    for (std::size_t i = 0; i < kBest; ++i) expected.push_back(ranking[i].second);
  }
  for (const SimdLevel level : kAllLevels) {
    const LevelScope scope(level);
    EXPECT_EQ(find(kBest, noise).first, expected) << simd_level();
  }
}

/// What the kernel says of the processor. It hides what it does not let programs use, as old ones do with AMX.
TEST(Details, NameWhatTheProcessorHas) {
#ifndef __x86_64__
  GTEST_SKIP() << "the features are those of x86-64";
#endif
  std::ifstream file("/proc/cpuinfo");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t flags = text.find("\nflags");
  if (flags == std::string::npos) GTEST_SKIP() << "/proc/cpuinfo lists no flags";
  const std::string list = text.substr(flags, text.find('\n', flags + 1) - flags) + " ";
  const auto kernel_says = [&](const char* flag) { return list.find(std::string(" ") + flag + " ") != list.npos; };
  const std::string features = details().front();
  EXPECT_EQ(features.find("AVX-512 VNNI yes") != features.npos, kernel_says("avx512_vnni")) << features;
  EXPECT_EQ(features.find("AVX-512 bf16 yes") != features.npos, kernel_says("avx512_bf16")) << features;
  if (kernel_says("amx_int8")) {
    EXPECT_NE(features.find("AMX int8 yes"), features.npos) << features;
  }
  if (kernel_says("amx_bf16")) {
    EXPECT_NE(features.find("AMX bf16 yes"), features.npos) << features;
  }
}

/// A process of its own, since oneDNN chooses its instructions once: held to AVX2, it must multiply right, and rows
/// must keep their bits in any company.
int check_process_held_to_avx2() {
  if (!limit_simd(SimdLevel::kAvx2)) return 2;
  if (simd_level() != "avx2") return 3;
  constexpr std::int64_t kRows = 70;
  constexpr std::int64_t kOutputs = 300;
  constexpr std::int64_t kInputs = 128;
  Rig rig;
  Matrix weight(kOutputs, kInputs, random_floats(kOutputs * kInputs, 1));
  Matrix x(kRows, kInputs, random_floats(kRows * kInputs, 2));
  const auto packed = rig.context().kernels().get(ops::kPackWeight)(rig.context(), weight, tensor::ComputeType::kF32);
  Matrix together(kRows, kOutputs);
  rig.run(ops::kLinear, ops::LinearArguments{.x = x, .packed = packed.get(), .y = together});
  for (std::int64_t r = 0; r < kRows; ++r) {
    Matrix alone(1, kOutputs);
    rig.run(ops::kLinear, ops::LinearArguments{.x = Tensor(x).row_range(r, r + 1), .packed = packed.get(), .y = alone});
    for (std::int64_t o = 0; o < kOutputs; ++o) {
      double sum = 0;
      for (std::int64_t i = 0; i < kInputs; ++i)
        sum += static_cast<double>(x.at(r, i)) * static_cast<double>(weight.at(o, i));
      if (std::abs(static_cast<double>(alone.at(0, o)) - sum) > 1e-4) return 4;
      if (alone.at(0, o) != together.at(r, o)) return 5;
    }
  }
  return 0;
}

TEST(SimdLevelDeathTest, AProcessHeldToAvx2MultipliesRowStably) {
#ifndef __x86_64__
  GTEST_SKIP() << "for x86-64";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(check_process_held_to_avx2()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace dragoman::backend::cpu

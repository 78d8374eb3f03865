// House rule 5: a row's result has the same bits whatever the other rows and however many they are.
#include "packing/packed_weight.h"
#include "products/gemm.h"
#include "support.h"

#include <gtest/gtest.h>

#include <dragoman/ops/attention.h>
#include <dragoman/ops/linear.h>
#include <dragoman/ops/matmul.h>
#include <dragoman/ops/project_top_k.h>

namespace dragoman::backend::cpu {
namespace {

std::vector<float> row_of(const std::vector<float>& values, std::int64_t row, std::int64_t cols) {
  const auto begin = values.begin() + row * cols;
  return {begin, begin + cols};
}

struct StableShape {
  std::int64_t outputs, inputs;
};

using tensor::ComputeType;

class PackedRows : public ::testing::TestWithParam<std::tuple<StableShape, ComputeType>> {};
INSTANTIATE_TEST_SUITE_P(
    RowStability, PackedRows,
    ::testing::Combine(
        ::testing::Values(StableShape{128, 128}, StableShape{256, 256}, StableShape{768, 256}, StableShape{1024, 256},
                          StableShape{256, 1024}, StableShape{512, 512}, StableShape{2048, 512}, StableShape{512, 2048},
                          StableShape{6000, 128}, StableShape{37, 51}, StableShape{1, 7}),
        ::testing::Values(ComputeType::kF32, ComputeType::kBF16, ComputeType::kI8, ComputeType::kI8Narrow)),
    [](const auto& test) {
      const StableShape shape = std::get<0>(test.param);
      const ComputeType type = std::get<1>(test.param);
      return std::to_string(shape.outputs) + "x" + std::to_string(shape.inputs) + "_" +
             (type == ComputeType::kI8Narrow ? "int8_narrow" : std::string(name_of(type)));
    });

TEST_P(PackedRows, LinearGivesARowTheSameBitsInAnyCompany) {
  const auto [shape, type] = GetParam();
  const auto [outputs, inputs] = shape;
  if (type == ComputeType::kI8 && !sums_bytes_exactly()) GTEST_SKIP() << "this processor has int8 with 7 bits only";
  constexpr std::int64_t kMax = 600;
  // Several threads share the products of few rows.
  Rig rig, two(2), five(5);
  Matrix weight(outputs, inputs, random_floats(outputs * inputs, 1));
  const auto packed = rig.context().kernels().get(ops::kPackWeight)(rig.context(), weight, type);
  const std::vector<float> rows = random_floats(kMax * inputs, 2);
  const auto linear = [&](std::int64_t begin, std::int64_t count, Rig& with) {
    Matrix x(count, inputs, {rows.begin() + begin * inputs, rows.begin() + (begin + count) * inputs});
    Matrix y(count, outputs);
    with.run(ops::kLinear,
             ops::LinearArguments{.x = x, .packed = packed.get(), .activation = ops::Activation::kGelu, .y = y});
    return y.values();
  };
  const std::vector<float> together = linear(0, kMax, rig);
  // Windows of all sizes that buckets and padding treat differently, with each row at changing places.
  for (const std::int64_t count : {1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 33, 64, 65, 100, 128, 129, 200, 256, 257, 511})
    for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{1}, kMax - count}) {
      const std::vector<float> window = linear(begin, count, rig);
      ASSERT_TRUE(window == linear(begin, count, two)) << count << " rows, two threads";
      ASSERT_TRUE(window == linear(begin, count, five)) << count << " rows, five threads";
      for (std::int64_t r = 0; r < count; ++r)
        ASSERT_TRUE(row_of(window, r, outputs) == row_of(together, begin + r, outputs))
            << "row " << begin + r << " among " << count << " rows from " << begin;
    }
}

TEST(RowStability, TheProbeFindsMoreThanOneBucketForTheUsualShapes) {
  // On the CPUs that we know the buckets agree; if a new oneDNN breaks that, translation still works, but slower, and
  // this test says so.
#ifndef __x86_64__
  GTEST_SKIP() << "known of oneDNN on x86-64";
#endif
  for (const StableShape shape : {StableShape{512, 512}, StableShape{2048, 512}, StableShape{512, 2048}}) {
    const std::vector<float> weight = random_floats(shape.outputs * shape.inputs, 1);
    for (const GemmElements elements : {GemmElements::kF32, GemmElements::kBF16, GemmElements::kI8}) {
      if (elements == GemmElements::kBF16 && !has_fast_bf16()) continue;  // not used then
      tensor::Buffer storage(tensor::host_memory(), PackedMatrix::bytes(elements, shape.outputs, shape.inputs));
      const PackedMatrix matrix(elements, weight.data(), shape.inputs, shape.outputs, shape.inputs, storage.data());
      EXPECT_GE(matrix.row_buckets().size(), 7) << shape.outputs << " x " << shape.inputs;
    }
  }
}

TEST(RowStability, ProductsOfTheUsualShapesCanBeCutIntoParts) {
  // As above: where they cannot, one sentence is not shared between cores.
#ifndef __x86_64__
  GTEST_SKIP() << "known of oneDNN on x86-64";
#endif
  if (gemm_level() == "avx2")
    GTEST_SKIP() << "what oneDNN packs for AVX2 has no blocks, so some outputs of it are no matrix of their own";
  for (const StableShape shape :
       {StableShape{512, 512}, StableShape{1536, 512}, StableShape{512, 2048}, StableShape{4000, 128}}) {
    const std::vector<float> weight = random_floats(shape.outputs * shape.inputs, 1);
    tensor::Buffer storage(tensor::host_memory(), PackedMatrix::bytes(GemmElements::kF32, shape.outputs, shape.inputs));
    const PackedMatrix matrix(GemmElements::kF32, weight.data(), shape.inputs, shape.outputs, shape.inputs,
                              storage.data());
    for (const std::int64_t rows : {1, 4, 24}) EXPECT_GT(matrix.part_width(rows, 64), 0) << rows;
  }
}

struct TopK {
  std::vector<std::int32_t> tokens;
  std::vector<float> log_probabilities;
  bool operator==(const TopK&) const = default;
};

class ProjectionRows : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(RowStability, ProjectionRows, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "packed" : "plain"; });

TEST_P(ProjectionRows, ProjectTopKGivesARowTheSameBitsInAnyCompany) {
  constexpr std::int64_t kRows = 150;
  constexpr std::int64_t kInputs = 64;
  constexpr std::int64_t kVocabulary = 4200;
  constexpr std::int64_t kBest = 5;
  Rig rig, three(3);
  Matrix weight(kVocabulary, kInputs, random_floats(kVocabulary * kInputs, 1));
  Matrix bias(1, kVocabulary, random_floats(kVocabulary, 2));
  const auto packed = rig.context().kernels().get(ops::kPackWeight)(rig.context(), weight, tensor::ComputeType::kF32);
  const std::vector<float> rows = random_floats(kRows * kInputs, 3);
  const auto find = [&](std::int64_t begin, std::int64_t count, Rig& with) {
    Matrix hidden(count, kInputs, {rows.begin() + begin * kInputs, rows.begin() + (begin + count) * kInputs});
    Matrix log_probabilities(count, kBest);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(count * kBest));
    std::vector<ops::LogitEdit> edits;
    std::vector<ops::RowNoise> noise;
    for (std::int64_t r = 0; r < count; ++r) {
      edits.push_back(
          {.row = static_cast<std::int32_t>(r), .token = static_cast<std::int32_t>(17 * (begin + r)), .bias = 3});
      noise.push_back({.seed = 9, .stream = static_cast<std::uint64_t>(begin + r), .step = 4});
    }
    // Even windows are searched with noise, odd ones without.
    const Tensor token_view{tokens.data(), count, kBest, kBest, tensor::DType::kI32, tensor::Device::kCpu};
    const std::vector<double> temperatures(static_cast<std::size_t>(count), 0.7);
    std::vector<TopK> result;
    for (const bool noisy : {false, true}) {
      with.run(ops::kProjectTopK,
               ops::ProjectTopKArguments{.hidden = hidden,
                                         .weight = weight,
                                         .packed = GetParam() ? packed.get() : nullptr,
                                         .bias = bias,
                                         .k = kBest,
                                         .temperatures = array(temperatures),
                                         .edits = array(edits),
                                         .noise = array(noisy ? noise : std::vector<ops::RowNoise>()),
                                         .tokens = token_view,
                                         .log_probabilities = log_probabilities});
      for (std::int64_t r = 0; r < count; ++r)
        result.push_back({{tokens.begin() + r * kBest, tokens.begin() + (r + 1) * kBest},
                          row_of(log_probabilities.values(), r, kBest)});
    }
    return result;
  };
  const std::vector<TopK> together = find(0, kRows, rig);
  for (const std::int64_t count : {1, 2, 3, 6, 17, 70, 128, 149})
    for (const std::int64_t begin : {std::int64_t{0}, kRows - count}) {
      const std::vector<TopK> window = find(begin, count, rig);
      ASSERT_TRUE(window == find(begin, count, three)) << count << " rows, three threads";
      for (std::int64_t r = 0; r < count; ++r)
        for (const std::int64_t noisy : {0, 1})
          ASSERT_TRUE(window[static_cast<std::size_t>(noisy * count + r)] ==
                      together[static_cast<std::size_t>(noisy * kRows + begin + r)])
              << "row " << begin + r << " among " << count << (noisy != 0 ? " with noise" : "");
    }
}

TEST(RowStability, PlainAndPackedProjectionsGiveTheSameBits) {
  constexpr std::int64_t kInputs = 48;
  constexpr std::int64_t kVocabulary = 4400;
  Rig rig;
  Matrix weight(kVocabulary, kInputs, random_floats(kVocabulary * kInputs, 1));
  const auto packed = rig.context().kernels().get(ops::kPackWeight)(rig.context(), weight, tensor::ComputeType::kF32);
  Matrix hidden(9, kInputs, random_floats(9 * kInputs, 2));
  const auto find = [&](const tensor::PackedWeight* form) {
    Matrix log_probabilities(9, 4);
    std::vector<std::int32_t> tokens(36);
    rig.run(ops::kProjectTopK,
            ops::ProjectTopKArguments{.hidden = hidden,
                                      .weight = weight,
                                      .packed = form,
                                      .k = 4,
                                      .tokens = {tokens.data(), 9, 4, 4, tensor::DType::kI32, tensor::Device::kCpu},
                                      .log_probabilities = log_probabilities});
    return std::pair(tokens, log_probabilities.values());
  };
  EXPECT_EQ(find(nullptr), find(packed.get()));
}

TEST(RowStability, AttentionGivesASequenceTheSameBitsInAnyCompany) {
  constexpr std::int64_t kWidth = 96;
  constexpr int kHeads = 4;
  const std::vector<std::int32_t> offsets = {0, 5, 6, 29, 47, 47, 48};
  const std::int64_t total = offsets.back();
  Rig rig;
  Matrix q(total, kWidth, random_floats(total * kWidth, 1));
  Matrix k(total, kWidth, random_floats(total * kWidth, 2));
  Matrix v(total, kWidth, random_floats(total * kWidth, 3));
  Matrix y(total, kWidth);
  rig.run(ops::kAttention, ops::AttentionArguments{.q = q,
                                                   .k = k,
                                                   .v = v,
                                                   .q_offsets = array(offsets),
                                                   .k_offsets = array(offsets),
                                                   .heads = kHeads,
                                                   .causal = true,
                                                   .y = y});
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const std::int32_t length = offsets[b + 1] - offsets[b];
    const std::vector<std::int32_t> alone = {0, length};
    Matrix y_alone(length, kWidth);
    const auto part = [&](Matrix& x) { return Tensor(x).row_range(offsets[b], offsets[b + 1]); };
    rig.run(ops::kAttention, ops::AttentionArguments{.q = part(q),
                                                     .k = part(k),
                                                     .v = part(v),
                                                     .q_offsets = array(alone),
                                                     .k_offsets = array(alone),
                                                     .heads = kHeads,
                                                     .causal = true,
                                                     .y = y_alone});
    const std::vector<float> together = y.values();
    EXPECT_EQ(y_alone.values(),
              std::vector<float>(together.begin() + offsets[b] * kWidth, together.begin() + offsets[b + 1] * kWidth))
        << "sequence " << b;
  }
}

}  // namespace
}  // namespace dragoman::backend::cpu

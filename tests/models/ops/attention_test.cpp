#include "cuda_backend_for_tests.h"
#include "op_harness.h"

#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include <dragoman/ops/attention.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/ops/rows.h>
#include <dragoman/ops/slice.h>
#include <dragoman/tensor/dtype.h>

namespace dragoman::testing {
namespace {

using Operands = std::span<const Variable>;
using Offsets = std::vector<std::int32_t>;

struct Setting {
  std::string name;
  Offsets q_offsets;
  Offsets k_offsets;
  ops::AttentionOptions options;
  std::int64_t width = 6;
  bool large = false;
  std::int64_t reach = -1;  ///< of a bias by distance; -1: there is none
};

Offsets offsets_of(const std::vector<std::int32_t>& lengths) {
  Offsets offsets{0};
  for (const std::int32_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

std::vector<Setting> settings() {
  const Offsets self = offsets_of({3, 1, 5});
  const Offsets with_empty = offsets_of({0, 4, 0, 2, 0});
  const Offsets large = offsets_of({40, 1, 0, 77, 13, 64, 65, 3});
  const Offsets large_keys = offsets_of({33, 2, 5, 50, 1, 130, 17, 64});
  return {
      {.name = "one_query_one_key", .q_offsets = {0, 1}, .k_offsets = {0, 1}, .options = {}},
      {.name = "one_query", .q_offsets = {0, 1}, .k_offsets = {0, 5}, .options = {.heads = 2}},
      {.name = "self_ragged", .q_offsets = self, .k_offsets = self, .options = {.heads = 3}},
      {.name = "self_odd_heads", .q_offsets = self, .k_offsets = self, .options = {.heads = 3}, .width = 15},
      {.name = "self_wide", .q_offsets = self, .k_offsets = self, .options = {.heads = 1}, .width = 40},
      {.name = "self_causal", .q_offsets = self, .k_offsets = self, .options = {.heads = 2, .causal = true}},
      {.name = "self_of_scale_2", .q_offsets = self, .k_offsets = self, .options = {.heads = 2, .scale = 2.0}},
      {.name = "causal_of_negative_scale",
       .q_offsets = self,
       .k_offsets = self,
       .options = {.heads = 2, .causal = true, .scale = -0.5}},
      {.name = "causal_with_history",
       .q_offsets = offsets_of({2, 1, 3}),
       .k_offsets = offsets_of({5, 4, 3}),
       .options = {.heads = 2, .causal = true}},
      {.name = "cross",
       .q_offsets = offsets_of({2, 4, 1}),
       .k_offsets = offsets_of({5, 1, 3}),
       .options = {.heads = 2}},
      {.name = "empty_sequences", .q_offsets = with_empty, .k_offsets = with_empty, .options = {.heads = 2}},
      {.name = "empty_sequences_causal",
       .q_offsets = with_empty,
       .k_offsets = with_empty,
       .options = {.heads = 2, .causal = true}},
      {.name = "no_keys", .q_offsets = offsets_of({2, 3}), .k_offsets = offsets_of({0, 4}), .options = {.heads = 2}},
      {.name = "no_queries", .q_offsets = offsets_of({0, 3}), .k_offsets = offsets_of({2, 4}), .options = {.heads = 2}},
      {.name = "no_sequences", .q_offsets = {0}, .k_offsets = {0}, .options = {.heads = 2}},
      {.name = "large_self",
       .q_offsets = large,
       .k_offsets = large,
       .options = {.heads = 4, .causal = true},
       .width = 64,
       .large = true},
      {.name = "large_cross",
       .q_offsets = large,
       .k_offsets = large_keys,
       .options = {.heads = 4},
       .width = 64,
       .large = true}};
}

/// With a bias by distance, of which some sequences see the ends, others not all.
std::vector<Setting> biased_settings() {
  std::vector<Setting> result;
  for (Setting setting : settings()) {
    if (setting.q_offsets.back() == 0) continue;
    setting.name += "_biased";
    setting.reach = setting.large ? 20 : 2;
    result.push_back(setting);
  }
  result.push_back({.name = "one_bias",
                    .q_offsets = offsets_of({3, 2}),
                    .k_offsets = offsets_of({3, 2}),
                    .options = {.heads = 2, .causal = true, .scale = 1},
                    .reach = 0});
  result.push_back({.name = "bias_with_few_queries",
                    .q_offsets = offsets_of({1, 2}),
                    .k_offsets = offsets_of({9, 30}),
                    .options = {.heads = 2, .scale = 1},
                    .reach = 5});
  return result;
}

std::vector<Setting> dropout_settings() {
  std::vector<Setting> result;
  std::vector<Setting> all = settings();
  for (const Setting& setting : biased_settings()) all.push_back(setting);
  for (Setting setting : all) {
    setting.name += "_dropout";
    setting.options.dropout = 0.3;
    result.push_back(setting);
  }
  return result;
}

OpCase attention_case(const Setting& setting, bool composite) {
  const std::int64_t queries = setting.q_offsets.back();
  const std::int64_t keys = setting.k_offsets.back();
  OpCase result{.name = setting.name,
                .operands = {{queries, setting.width, -2, 2}, {keys, setting.width, -2, 2}, {keys, setting.width}},
                .run = {},
                .training = setting.options.dropout > 0,
                .tolerance = 5e-5,
                .finite_differences = !setting.large};
  if (setting.reach >= 0) result.operands.push_back({2 * setting.reach + 1, setting.options.heads, -2, 2});
  result.run = [setting, composite](Context& c, Operands x) {
    const auto q = c.indices(setting.q_offsets);
    const auto k = c.indices(setting.k_offsets);
    const Variable bias = setting.reach >= 0 ? x[3] : Variable{};
    return std::vector{composite ? ops::attention_composite(c, x[0], x[1], x[2], q, k, setting.options, bias)
                                 : ops::attention(c, x[0], x[1], x[2], q, k, setting.options, false, bias).output};
  };
  return result;
}

/// Query, key and value as columns of one product, as a fused projection gives them.
OpCase packed_columns_case(const Setting& setting) {
  OpCase result = attention_case(setting, false);
  result.name = "columns_" + setting.name;
  result.operands = {{setting.q_offsets.back(), 3 * setting.width, -2, 2}};
  result.run = [setting](Context& c, Operands x) {
    const auto [q, k, v] = ops::split_columns<3>(c, ops::scale(c, x[0], 1));
    const auto offsets = c.indices(setting.q_offsets);
    return std::vector{ops::attention(c, q, k, v, offsets, offsets, setting.options).output};
  };
  return result;
}

std::vector<OpCase> attention_cases() {
  std::vector<OpCase> result;
  for (const Setting& setting : settings()) result.push_back(attention_case(setting, false));
  for (const Setting& setting : biased_settings()) result.push_back(attention_case(setting, false));
  for (const Setting& setting : dropout_settings()) result.push_back(attention_case(setting, false));
  // The first two queries see no key; the composite has no form of that.
  result.push_back(attention_case({.name = "causal_more_queries_than_keys",
                                   .q_offsets = offsets_of({3, 2}),
                                   .k_offsets = offsets_of({1, 2}),
                                   .options = {.heads = 2, .causal = true}},
                                  false));
  for (const Setting& setting : settings())
    if (setting.q_offsets == setting.k_offsets) result.push_back(packed_columns_case(setting));
  return result;
}

INSTANTIATE_TEST_SUITE_P(Attention, OpTest, ::testing::ValuesIn(attention_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Attention, OpGradientTest, ::testing::ValuesIn(small(attention_cases())), case_name);

TEST(Attention, FusedFormEqualsTheComposite) {
  for (const Setting& setting : settings())
    expect_equivalent(attention_case(setting, false), attention_case(setting, true));
  for (const Setting& setting : biased_settings())
    if (!setting.large) expect_equivalent(attention_case(setting, false), attention_case(setting, true));
}

class AttentionTest : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Attention, AttentionTest, kAllDevices, device_name);

TEST_P(AttentionTest, WeighsValuesByHand) {
  // One head of width 1: scores are q * k. With q = ln 2 and keys 0, 1, 2 the weights are 1/7, 2/7, 4/7.
  Rig rig(GetParam());
  Context& context = rig.context();
  const Offsets q_offsets{0, 1};
  const Offsets k_offsets{0, 3};
  const Variable q = rig.constant(1, 1, std::vector<double>{std::log(2.0)});
  const Variable k = rig.constant(3, 1, std::vector<double>{0, 1, 2});
  const Variable v = rig.constant(3, 1, std::vector<double>{7, 14, -7});
  const auto result =
      ops::attention(context, q, k, v, context.indices(q_offsets), context.indices(k_offsets), {}, true);
  expect_close(values_of(result.output.value), std::vector<double>{1}, 1e-5, "output");
  expect_close(values_of(result.weights.value), std::vector<double>{1.0 / 7, 2.0 / 7, 4.0 / 7}, 1e-6, "weights");
}

TEST_P(AttentionTest, AScaleTakesThePlaceOfTheUsualOne) {
  // One head of width 4 with queries and keys that have one component each: scores are scale * q * k, and half of the
  // product without a scale. With scale 1 and q = ln 2 the weights are those of the example above.
  Rig rig(GetParam());
  Context& context = rig.context();
  const Offsets q_offsets{0, 1};
  const Offsets k_offsets{0, 3};
  const Variable k = rig.constant(3, 4, std::vector<double>{0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0});
  for (const auto& [scale, query] :
       {std::pair<double, double>{1.0, std::log(2.0)}, {0, 2 * std::log(2.0)}, {-2.0, -std::log(2.0) / 2}}) {
    const Variable q = rig.constant(1, 4, std::vector<double>{query, 3, -1, 2});
    const auto result = ops::attention(context, q, k, k, context.indices(q_offsets), context.indices(k_offsets),
                                       {.scale = scale}, true);
    expect_close(values_of(result.weights.value), std::vector<double>{1.0 / 7, 2.0 / 7, 4.0 / 7}, 1e-6, "weights");
  }
}

TEST_P(AttentionTest, ABiasIsThatOfTheDistance) {
  // Scores are biases alone, and e to the power of them is 1, 2, 4 from far behind to here, 8, 16 ahead: the last of
  // two queries among four keys stands at key 3, the first at key 2.
  Rig rig(GetParam());
  Context& context = rig.context();
  const Variable zeros = rig.constant(4, 2, std::vector<double>(8, 0.0));
  const Variable queries{zeros.value.row_range(0, 2), nullptr};
  std::vector<double> biases;
  for (const double weight : {1.0, 2.0, 4.0, 8.0, 16.0}) biases.insert(biases.end(), {std::log(weight), 0});
  const Variable bias = rig.constant(5, 2, biases);
  const Offsets q_offsets{0, 2};
  const Offsets k_offsets{0, 4};
  const auto result = ops::attention(context, queries, zeros, zeros, context.indices(q_offsets),
                                     context.indices(k_offsets), {.heads = 2}, true, bias);
  expect_close(values_of(result.weights.value),
               std::vector<double>{1. / 15, 2. / 15, 4. / 15, 8. / 15, 1. / 8, 1. / 8, 2. / 8, 4. / 8, 0.25, 0.25, 0.25,
                                   0.25, 0.25, 0.25, 0.25, 0.25},
               1e-6, "weights");
  EXPECT_THROW(ops::attention(context, queries, zeros, zeros, context.indices(q_offsets), context.indices(k_offsets),
                              {.heads = 1}, false, bias),
               core::Error);
}

TEST_P(AttentionTest, ReturnsTheWeightsOfEverySequenceHeadAndQuery) {
  Rig rig(GetParam());
  Context& context = rig.context();
  const Offsets offsets = offsets_of({2, 3});
  const Variable x = rig.constant(5, 4, random_values(20, 1));
  const auto index = context.indices(offsets);
  const auto result = ops::attention(context, x, x, x, index, index, {.heads = 2, .causal = true}, true);
  const std::vector<std::int64_t> first = ops::weight_offsets(offsets, offsets, 2);
  EXPECT_EQ(first, (std::vector<std::int64_t>{0, 8, 26}));
  const std::vector<double> weights = values_of(result.weights.value);
  ASSERT_EQ(weights.size(), 26U);
  for (std::size_t b = 0; b < 2; ++b) {
    const int n = offsets[b + 1] - offsets[b];
    for (int row = 0; row < 2 * n; ++row) {
      const auto begin = weights.begin() + first[b] + row * n;
      const int seen = row % n + 1;
      EXPECT_NEAR(std::accumulate(begin, begin + seen, 0.0), 1, 1e-6);
      for (int j = seen; j < n; ++j) EXPECT_EQ(begin[j], 0) << "sequence " << b << ", row " << row;
    }
  }
}

TEST_P(AttentionTest, QueriesBeforeTheFirstKeySeeNothing) {
  // Causal with 3 queries and 1 key: only the last query sees it.
  Rig rig(GetParam());
  Context& context = rig.context();
  const Offsets q_offsets{0, 3};
  const Offsets k_offsets{0, 1};
  const Variable q = rig.constant(3, 2, random_values(6, 1));
  const Variable kv = rig.constant(1, 2, std::vector<double>{5, 6});
  const auto result = ops::attention(context, q, kv, kv, context.indices(q_offsets), context.indices(k_offsets),
                                     {.heads = 1, .causal = true});
  EXPECT_EQ(values_of(result.output.value), (std::vector<double>{0, 0, 0, 0, 5, 6}));
}

TEST_P(AttentionTest, ASequenceDoesNotSeeItsNeighbours) {
  Rig rig(GetParam());
  Context& context = rig.context();
  const Offsets together = offsets_of({9, 5, 20});
  const Offsets alone = offsets_of({5});
  const Variable x = rig.constant(34, 16, random_values(34 * 16, 1));
  const Variable middle{x.value.row_range(9, 14), nullptr};
  for (const bool causal : {false, true}) {
    const ops::AttentionOptions options{.heads = 2, .causal = causal};
    const auto all = ops::attention(context, x, x, x, context.indices(together), context.indices(together), options);
    const auto one =
        ops::attention(context, middle, middle, middle, context.indices(alone), context.indices(alone), options);
    EXPECT_EQ(values_of(all.output.value.row_range(9, 14)), values_of(one.output.value)) << "not bit for bit";
  }
}

TEST_P(AttentionTest, ManySequencesAreToldApart) {
  // Of one row or none: each query sees one key, and its value comes out.
  Rig rig(GetParam());
  Context& context = rig.context();
  std::vector<std::int32_t> lengths;
  for (int i = 0; i < 2100; ++i) lengths.push_back(i % 7 < 2 || i % 64 == 0 ? 1 : 0);
  const Offsets offsets = offsets_of(lengths);
  const std::int64_t rows = offsets.back();
  const Variable qk = rig.constant(rows, 8, random_values(rows * 8, 1));
  const Variable v = rig.constant(rows, 8, random_values(rows * 8, 2));
  const auto index = context.indices(offsets);
  const auto result = ops::attention(context, qk, qk, v, index, index, {.heads = 2});
  EXPECT_EQ(values_of(result.output.value), values_of(v.value));
}

TEST_P(AttentionTest, RefusesOperandsThatDoNotFit) {
  Rig rig(GetParam());
  Context& context = rig.context();
  const Offsets two{0, 2};
  const Offsets three{0, 3};
  const Offsets split{0, 1, 2};
  const Variable x = rig.constant(2, 4, random_values(8, 1));
  const Variable narrow = rig.constant(2, 2, random_values(4, 1));
  const auto run = [&](const Variable& k, const Offsets& q_offsets, const Offsets& k_offsets, int heads) {
    ops::attention(context, x, k, k, context.indices(q_offsets), context.indices(k_offsets), {.heads = heads});
  };
  EXPECT_NO_THROW(run(x, two, two, 2));
  EXPECT_THROW(run(x, two, two, 3), core::Error);
  EXPECT_THROW(run(narrow, two, two, 2), core::Error);
  EXPECT_THROW(run(x, two, three, 2), core::Error);
  EXPECT_THROW(run(x, two, split, 2), core::Error);
}

/// Keys and values of a decoder's history, whose rows do not lie end to end.
struct CachedRows {
  CachedRows(Rig& rig, std::int64_t rows, std::int64_t width)
      : keys(rig.matrix(rows, width + 3, random_values(rows * (width + 3), 100)).col_range(0, width)),
        values(rig.matrix(rows, width + 5, random_values(rows * (width + 5), 101)).col_range(2, 2 + width)) {}

  Tensor keys;
  Tensor values;
};

std::vector<double> row_of(const Tensor& rows, std::int32_t row) {
  return values_of(rows.row_range(row, row + 1));
}

void append(std::vector<double>& to, const std::vector<double>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

TEST_P(AttentionTest, CachedAttentionEqualsPlainAttentionOverTheSameRows) {
  constexpr std::int64_t kWidth = 24;
  constexpr int kHeads = 3;
  Rig rig(GetParam());
  Context& context = rig.context();
  const CachedRows history(rig, 40, kWidth);
  const std::vector<std::vector<std::int32_t>> keys = {
      {17}, {39, 0, 8, 7}, {}, {5, 6, 7, 8, 9, 10, 11, 12, 13}, {3, 3, 3}};
  std::vector<std::int32_t> rows;
  std::vector<ops::KeyRange> ranges;
  Offsets q_offsets{0};
  Offsets k_offsets{0};
  std::vector<double> key_values;
  std::vector<double> value_values;
  for (const auto& indices : keys) {
    ranges.push_back({static_cast<std::int32_t>(rows.size()), static_cast<std::int32_t>(indices.size())});
    rows.insert(rows.end(), indices.begin(), indices.end());
    q_offsets.push_back(q_offsets.back() + 1);
    k_offsets.push_back(k_offsets.back() + static_cast<std::int32_t>(indices.size()));
    for (const std::int32_t row : indices) {
      append(key_values, row_of(history.keys, row));
      append(value_values, row_of(history.values, row));
    }
  }
  const auto row_count = static_cast<std::int64_t>(keys.size());
  const Variable q = rig.constant(row_count, kWidth, random_values(row_count * kWidth, 1, -2, 2));
  const Variable table = rig.constant(7, kHeads, random_values(7 * kHeads, 5, -2, 2));
  for (const auto& [scale, bias] : {std::pair<double, Variable>{0.0, {}}, {1.0, {}}, {-0.3, {}}, {1.0, table}}) {
    const Tensor y = context.allocate(row_count, kWidth);
    const Tensor probabilities = context.allocate(row_count, kHeads * 9);
    context.kernels().get(ops::kCachedAttention)(
        context,
        {q.value, history.keys, history.values, context.upload(std::span<const std::int32_t>(rows)),
         context.upload(std::span<const ops::KeyRange>(ranges)), 9, kHeads, probabilities, y, scale, bias.value});

    const Variable k = rig.constant(k_offsets.back(), kWidth, key_values);
    const Variable v = rig.constant(k_offsets.back(), kWidth, value_values);
    const auto plain = ops::attention(context, q, k, v, context.indices(q_offsets), context.indices(k_offsets),
                                      {.heads = kHeads, .scale = scale}, true, bias);
    expect_close(values_of(y), values_of(plain.output.value), 1e-5, "output");
    const std::vector<double> weights = values_of(plain.weights.value);
    for (std::int64_t r = 0; r < row_count; ++r) {
      const auto used = static_cast<std::int64_t>(keys[static_cast<std::size_t>(r)].size()) * kHeads;
      const auto* begin = weights.data() + kHeads * k_offsets[static_cast<std::size_t>(r)];
      expect_close(values_of(probabilities.row_range(r, r + 1).col_range(0, used)),
                   {begin, static_cast<std::size_t>(used)}, 1e-5, "weights of row " + std::to_string(r));
    }
  }
}

TEST_P(AttentionTest, ACachedRowDoesNotDependOnTheOthers) {
  constexpr std::int64_t kWidth = 32;
  constexpr std::int64_t kRows = 20;
  Rig rig(GetParam(), 2);
  Context& context = rig.context();
  const CachedRows history(rig, 64, kWidth);
  std::vector<std::int32_t> rows;
  for (std::int32_t row = 0; row < 64; ++row) rows.push_back(row);
  std::vector<ops::KeyRange> ranges;
  for (std::int32_t r = 0; r < kRows; ++r) ranges.push_back({r, 1 + 2 * r});
  const auto key_rows = context.upload(std::span<const std::int32_t>(rows));
  const auto key_ranges = context.upload(std::span<const ops::KeyRange>(ranges));
  const Tensor q = rig.matrix(kRows, kWidth, random_values(kRows * kWidth, 1, -2, 2));
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    const Tensor y = context.allocate(end - begin, kWidth);
    context.kernels().get(ops::kCachedAttention)(context, {q.row_range(begin, end),
                                                           history.keys,
                                                           history.values,
                                                           key_rows,
                                                           key_ranges.subarray(begin, end),
                                                           1 + 2 * kRows,
                                                           4,
                                                           {},
                                                           y});
    return y;
  };
  const Tensor all = run(0, kRows);
  for (std::int64_t r = 0; r < kRows; ++r)
    EXPECT_EQ(values_of(all.row_range(r, r + 1)), values_of(run(r, r + 1))) << "row " << r;
}

std::vector<double> rounded_to(tensor::DType type, std::vector<double> values) {
  for (double& value : values) {
    const auto number = static_cast<float>(value);
    value = type == tensor::DType::kF16 ? tensor::f16_to_f32(tensor::f32_to_f16(number))
                                        : tensor::bf16_to_f32(tensor::f32_to_bf16(number));
  }
  return values;
}

/// Hypotheses of three sentences: some share all of their keys, some the first ones, some none, as those of beams do;
/// and heads of sizes that are whole vectors, and that are not.
class CachedHypotheses : public ::testing::TestWithParam<std::tuple<Device, int>> {
 protected:
  static constexpr std::int64_t kPool = 60;
  static constexpr int kHeads = 3;

  std::int64_t width() const { return kHeads * std::get<1>(GetParam()); }

  void add(const std::vector<std::int32_t>& keys) {
    ranges_.push_back({static_cast<std::int32_t>(rows_.size()), static_cast<std::int32_t>(keys.size())});
    rows_.insert(rows_.end(), keys.begin(), keys.end());
    longest_ = std::max(longest_, static_cast<std::int32_t>(keys.size()));
  }

  void SetUp() override {
    add({5, 6, 7, 8, 20, 24, 28});
    add({5, 6, 7, 8, 20, 24, 29});
    add({5, 6, 7, 8, 21, 25, 30});
    add({5, 6, 7, 9, 22});
    add({5, 40, 41});
    add({});
    add({50});
    for (int i = 0; i < 5; ++i) ranges_.push_back(ranges_.front());  // of one memory, read in one place
    add({31, 32, 33, 34, 35, 36, 37, 38, 39, 1, 2, 3, 4, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  }

  /// Rows [begin, end) of the queries.
  Tensor run(const Tensor& q, const Tensor& keys, const Tensor& values, std::int64_t begin, std::int64_t end) {
    Context& context = rig_.context();
    const Tensor y = context.allocate(end - begin, width());
    context.kernels().get(ops::kCachedAttention)(
        context, {q.row_range(begin, end),
                  keys,
                  values,
                  context.upload(std::span<const std::int32_t>(rows_)),
                  context.upload(std::span<const ops::KeyRange>(ranges_)).subarray(begin, end),
                  longest_,
                  kHeads,
                  {},
                  y});
    return y;
  }

  /// BF16, and F16 where the device keeps it.
  static std::vector<tensor::DType> narrow_types() {
    const std::vector<Device> with_fp16 = devices_that_train_in(tensor::ComputeChoice::kF16);
    if (std::ranges::find(with_fp16, std::get<0>(GetParam())) == with_fp16.end()) return {tensor::DType::kBF16};
    return {tensor::DType::kBF16, tensor::DType::kF16};
  }

  Tensor as(tensor::DType type, const Tensor& x) {
    if (type == x.dtype) return x;
    Context& context = rig_.context();
    all_.resize(static_cast<std::size_t>(x.rows));
    std::iota(all_.begin(), all_.end(), 0);
    const Tensor y = context.arena().allocate(x.rows, x.cols, type, context.device());
    ops::scatter_rows(context, x, context.upload(std::span<const std::int32_t>(all_)), y);
    return y;
  }

  Rig rig_{std::get<0>(GetParam()), 2};
  std::vector<std::int32_t> rows_;
  std::vector<ops::KeyRange> ranges_;
  std::vector<std::int32_t> all_;
  std::int32_t longest_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Attention, CachedHypotheses,
                         ::testing::Combine(kAllDevices, ::testing::Values(1, 8, 16, 20, 32, 48, 64, 128, 256)),
                         [](const auto& given) {
                           return std::string(std::get<0>(given.param).backend()) + "_" +
                                  std::to_string(std::get<1>(given.param));
                         });

TEST_P(CachedHypotheses, ComeOutTheSameAloneAndTogether) {
  const auto rows = static_cast<std::int64_t>(ranges_.size());
  const Tensor q = rig_.matrix(rows, width(), random_values(rows * width(), 1, -2, 2));
  const Tensor keys = rig_.matrix(kPool, width(), random_values(kPool * width(), 2));
  const Tensor values = rig_.matrix(kPool, width(), random_values(kPool * width(), 3));
  std::vector<tensor::DType> types = narrow_types();
  types.push_back(keys.dtype);
  for (const tensor::DType type : types) {
    const Tensor kept_keys = as(type, keys);
    const Tensor kept_values = as(type, values);
    const Tensor together = run(q, kept_keys, kept_values, 0, rows);
    for (std::int64_t r = 0; r < rows; ++r)
      EXPECT_EQ(values_of(together.row_range(r, r + 1)), values_of(run(q, kept_keys, kept_values, r, r + 1)))
          << "row " << r << " of " << name_of(type);
  }
}

TEST_P(CachedHypotheses, KeysAndValuesIn16BitsAreThoseOfTheRoundedNumbers) {
  const auto rows = static_cast<std::int64_t>(ranges_.size());
  const std::vector<double> keys = random_values(kPool * width(), 2);
  const std::vector<double> values = random_values(kPool * width(), 3);
  const Tensor q = rig_.matrix(rows, width(), random_values(rows * width(), 1, -2, 2));
  for (const tensor::DType type : narrow_types()) {
    const Tensor narrow =
        run(q, as(type, rig_.matrix(kPool, width(), keys)), as(type, rig_.matrix(kPool, width(), values)), 0, rows);
    const Tensor wide = run(q, rig_.matrix(kPool, width(), rounded_to(type, keys)),
                            rig_.matrix(kPool, width(), rounded_to(type, values)), 0, rows);
    expect_close(values_of(narrow), values_of(wide), 1e-5, std::string(name_of(type)));
  }
}

/// What a device that computes attention's weights again gives in 16 bits: compared with double precision, which rounds
/// nothing. Numbers have errors of 2^-9 in bf16 and 2^-12 in fp16.
struct RoundedAttention {
  int head_size;
  bool causal;
  bool with_bias;
  double dropout;
};
class AttentionIn16Bits : public ::testing::TestWithParam<RoundedAttention> {};
INSTANTIATE_TEST_SUITE_P(Attention, AttentionIn16Bits,
                         ::testing::Values(RoundedAttention{32, false, false, 0}, RoundedAttention{64, true, false, 0},
                                           RoundedAttention{96, false, true, 0.25},
                                           RoundedAttention{128, true, true, 0},
                                           RoundedAttention{40, true, false, 0.25},
                                           RoundedAttention{64, true, true, 0.1},
                                           RoundedAttention{18, false, true, 0.1}, RoundedAttention{90, true, false, 0},
                                           RoundedAttention{136, false, false, 0}),
                         [](const auto& given) {
                           const RoundedAttention& a = given.param;
                           return fmt::format("{}{}{}{}", a.head_size, a.causal ? "_causal" : "",
                                              a.with_bias ? "_bias" : "", a.dropout > 0 ? "_dropout" : "");
                         });

TEST_P(AttentionIn16Bits, IsCloseToDoublePrecision) {
  const auto [head_size, causal, with_bias, dropout] = GetParam();
  constexpr int kHeads = 2;
  const std::int64_t width = kHeads * head_size;
  // Of several tiles, of parts of one, of one row, and empty; with more keys than queries, and fewer.
  static const std::vector<std::int32_t> kQueries{0, 5, 5, 6, 76, 140};
  static const std::vector<std::int32_t> kKeys{0, 9, 12, 45, 110, 240};
  OpCase op_case{.name = "attention",
                 .operands = {{kQueries.back(), width, -2, 2}, {kKeys.back(), width, -1, 1}, {kKeys.back(), width}},
                 .run = {},
                 .training = true};
  if (with_bias) op_case.operands.push_back({9, kHeads});
  const auto in = [&](tensor::ComputeType type) {
    OpCase result = op_case;
    result.run = [=](Context& context, std::span<const Variable> x) {
      autograd::training_mode(context).set_compute_type(type);
      return std::vector{ops::attention(context, x[0], x[1], x[2], context.indices(kQueries), context.indices(kKeys),
                                        {.heads = kHeads, .causal = causal, .dropout = dropout}, false,
                                        with_bias ? x[3] : Variable{})
                             .output};
    };
    return result;
  };
  const Outcome expected = run_case(Device::kReference, in(tensor::ComputeType::kF32));
  for (const Device device : all_devices()) {
    if (test_runtime().kernels(device).find(ops::kRecomputedAttention) == nullptr) continue;
    const Outcome fp32 = run_case(device, in(tensor::ComputeType::kF32));
    for (const auto& [type, tolerance] :
         {std::pair(tensor::ComputeType::kBF16, 0.03), std::pair(tensor::ComputeType::kF16, 0.004)}) {
      const Outcome actual = run_case(device, in(type));
      const std::string where = fmt::format("{} on {}", name_of(type), name_of(device));
      expect_close(actual.outputs[0], expected.outputs[0], tolerance, where + ", output");
      for (std::size_t i = 0; i < actual.gradients.size(); ++i)
        expect_close(actual.gradients[i], expected.gradients[i], (i == 3 ? 4 : 1) * tolerance,
                     where + ", gradient of operand " + std::to_string(i));
      EXPECT_EQ(actual.outputs == fp32.outputs, head_size > 128) << where << ": wide heads are in fp32";
      // Nothing depends on the order of blocks and threads.
      emulation::set_order(emulation::Order::kShuffled, 3);
      const Outcome again = run_case(device, in(type));
      emulation::set_order(emulation::Order::kForward);
      EXPECT_EQ(again.outputs, actual.outputs);
      EXPECT_EQ(again.gradients, actual.gradients);
    }
  }
}

}  // namespace
}  // namespace dragoman::testing

#include "support.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include <dragoman/ops/work.h>

namespace dragoman::backend::cpu {
namespace {

/// A rig with timed kernels.
class TimedRig {
 public:
  TimedRig() : table_(tensor::Device::kCpu), context_(table_, tensor::host_memory(), tensor::DType::kF32, executor_) {
    install_kernels(table_);
    install_timed_kernels(table_);
  }
  tensor::Context& context() { return context_; }
  template <class Key, class Arguments>
  auto run(Key key, const Arguments& arguments) {
    return table_.get(key)(context_, arguments);
  }

 private:
  core::SequentialExecutor executor_;
  tensor::KernelTable table_;
  tensor::Context context_;
};

tensor::KernelTime time_of(const std::string& kernel) {
  const std::vector<tensor::KernelTime> all = kernel_times();
  const auto found = std::ranges::find(all, kernel, &tensor::KernelTime::kernel);
  return found == all.end() ? tensor::KernelTime{} : *found;
}

TEST(KernelTimes, TimedKernelsComputeTheSameAndAreCountedByTheirWeights) {
  constexpr std::int64_t kRows = 7, kOutputs = 24, kInputs = 40;
  Matrix x(kRows, kInputs, random_floats(kRows * kInputs, 1));
  Matrix weight(kOutputs, kInputs, random_floats(kOutputs * kInputs, 2));
  Matrix plain(kRows, kOutputs), timed(kRows, kOutputs);
  Rig rig;
  rig.run(ops::kLinear, ops::LinearArguments{.x = x, .weight = weight, .y = plain});
  const std::string name = "linear [24, 40] fp32";
  EXPECT_EQ(time_of(name).launches, 0U) << "of a table that measures nothing";

  TimedRig timed_rig;
  for (int call = 0; call < 3; ++call)
    timed_rig.run(ops::kLinear, ops::LinearArguments{.x = x, .weight = weight, .y = timed});
  EXPECT_EQ(timed.values(), plain.values());
  const tensor::KernelTime time = time_of(name);
  EXPECT_EQ(time.launches, 3U);
  EXPECT_GT(time.seconds, 0);
  EXPECT_EQ(time.products, 3 * 7 * 24 * 40);
  EXPECT_EQ(time.bytes, 3 * 4 * (7 * 40 + 24 * 40 + 7 * 24));

  timed_rig.run(ops::kAdd, ops::AddArguments{x, x, x});
  EXPECT_EQ(time_of("add").launches, 1U);
  EXPECT_EQ(time_of("add").products, 0);
  EXPECT_TRUE(std::ranges::is_sorted(kernel_times(), std::greater(), &tensor::KernelTime::seconds));
}

TEST(KernelTimes, PackedWeightsCountWithTheirOwnType) {
  constexpr std::int64_t kRows = 3, kOutputs = 64, kInputs = 32;
  Matrix x(kRows, kInputs, random_floats(kRows * kInputs, 1));
  Matrix weight(kOutputs, kInputs, random_floats(kOutputs * kInputs, 2));
  Matrix y(kRows, kOutputs);
  TimedRig rig;
  const auto packed =
      rig.context().kernels().get(ops::kPackWeight)(rig.context(), weight, inference_type(tensor::ComputeChoice::kI8));
  rig.run(ops::kLinear, ops::LinearArguments{.x = x, .packed = packed.get(), .y = y});
  const tensor::KernelTime time = time_of("linear [64, 32] int8");
  EXPECT_EQ(time.launches, 1U);
  EXPECT_EQ(time.bytes, 64 * 32 + 4 * (3 * 32 + 3 * 64));
}

/// The pairs are those whose weights are not zero.
TEST(Work, AttentionCountsThePairsThatItComputes) {
  const std::vector<std::int32_t> queries{0, 3, 8}, keys{0, 5, 12};
  constexpr std::int64_t kWidth = 8;
  constexpr int kHeads = 2;
  Rig rig;
  for (const bool causal : {false, true}) {
    Matrix q(8, kWidth, random_floats(8 * kWidth, 1)), k(12, kWidth, random_floats(12 * kWidth, 2));
    Matrix v(12, kWidth, random_floats(12 * kWidth, 3)), y(8, kWidth);
    Matrix weights(1, kHeads * (3 * 5 + 5 * 7));
    const ops::AttentionArguments call{.q = q,
                                       .k = k,
                                       .v = v,
                                       .q_offsets = array(queries),
                                       .k_offsets = array(keys),
                                       .heads = kHeads,
                                       .causal = causal,
                                       .probabilities = weights,
                                       .y = y};
    rig.run(ops::kAttention, call);
    const std::vector<float> computed = weights.values();
    const auto pairs = std::ranges::count_if(computed, [](float weight) { return weight != 0; }) / kHeads;
    EXPECT_EQ(ops::work_of(call).products, static_cast<double>(2 * pairs * kWidth)) << causal;
  }
}

TEST(Work, CachedAttentionReadsASharedListOfKeysOnce) {
  const std::vector<ops::KeyRange> ranges{{0, 4}, {0, 4}, {4, 2}};
  Matrix q(3, 8), keys(6, 8), values(6, 8), y(3, 8);
  const ops::Work work = ops::work_of(
      ops::CachedAttentionArguments{.q = q, .keys = keys, .values = values, .ranges = array(ranges), .y = y});
  EXPECT_EQ(work.products, 2 * (4 + 4 + 2) * 8);
  EXPECT_EQ(work.bytes, 4 * (2 * (4 + 2) * 8 + 2 * 3 * 8));
}

TEST(Work, MatrixProductsCountEachTermOnce) {
  Matrix a(5, 3), b(5, 4), c(3, 4);
  ops::MatMulArguments call{.a = a, .transpose_a = true, .b = b, .c = c};
  EXPECT_EQ(ops::work_of(call).products, 3 * 4 * 5);
  EXPECT_EQ(ops::work_of(call).bytes, 4 * (5 * 3 + 5 * 4 + 3 * 4));
  call.accumulate = true;
  EXPECT_EQ(ops::work_of(call).bytes, 4 * (5 * 3 + 5 * 4 + 2 * 3 * 4)) << "what accumulates is read, too";
}

TEST(Work, TheBackwardPassOfALayerHasAProductForEachGradient) {
  Matrix x(6, 4), weight(5, 4), y(6, 5), dy(6, 5), dx(6, 4), dweight(5, 4);
  ops::LinearBackwardArguments call{.x = x, .weight = weight, .y = y, .dy = dy, .dx = {dx}, .dweight = {dweight}};
  EXPECT_EQ(ops::work_of(call).products, 2 * 6 * 5 * 4);
  call.dx = {};
  EXPECT_EQ(ops::work_of(call).products, 6 * 5 * 4) << "of a layer whose input needs no gradient";
}

}  // namespace
}  // namespace dragoman::backend::cpu

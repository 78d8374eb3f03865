#include <cmath>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/training/schedule.h>

namespace dragoman::training {
namespace {

double rate(std::int64_t update, ScheduleOptions options, ScheduleScope scope = {}) {
  return learning_rate_at(update, options, scope);
}

TEST(Schedule, NoamIsEquationThreeOfThePaper) {
  // Vaswani et al. 2017: d_model = 512, warmup_steps = 4000. Values worked out with bc.
  const ScheduleOptions noam{.kind = ScheduleKind::kNoam, .learning_rate = 1, .warmup = 4000};
  const ScheduleScope base{.model_width = 512};
  EXPECT_NEAR(rate(1, noam, base), 1.746928107421711e-07, 1e-18);
  EXPECT_NEAR(rate(2000, noam, base), 3.493856214843422e-04, 1e-15);
  EXPECT_NEAR(rate(4000, noam, base), 6.987712429686843e-04, 1e-15);
  EXPECT_NEAR(rate(16000, noam, base), 3.493856214843422e-04, 1e-15);
  EXPECT_NEAR(rate(100000, noam, base), 1.397542485937369e-04, 1e-15);
}

TEST(Schedule, InverseSqrtIsFairseqs) {
  // fairseq --lr 5e-4 --warmup-updates 4000 --warmup-init-lr 0.
  const ScheduleOptions options{.kind = ScheduleKind::kInverseSqrt, .learning_rate = 5e-4, .warmup = 4000};
  EXPECT_DOUBLE_EQ(rate(1, options), 1.25e-7);
  EXPECT_DOUBLE_EQ(rate(1000, options), 1.25e-4);
  EXPECT_DOUBLE_EQ(rate(4000, options), 5e-4);
  EXPECT_NEAR(rate(8000, options), 3.535533905932738e-4, 1e-18);
  EXPECT_DOUBLE_EQ(rate(16000, options), 2.5e-4);
}

TEST(Schedule, LinearFallsOnAStraightLine) {
  const ScheduleOptions options{
      .kind = ScheduleKind::kLinear, .learning_rate = 1, .warmup = 10, .final_learning_rate = 0.2};
  const ScheduleScope scope{.updates = 110};
  EXPECT_DOUBLE_EQ(rate(5, options, scope), 0.5);
  EXPECT_DOUBLE_EQ(rate(10, options, scope), 1);
  EXPECT_DOUBLE_EQ(rate(60, options, scope), 0.6);
  EXPECT_DOUBLE_EQ(rate(110, options, scope), 0.2);
  EXPECT_DOUBLE_EQ(rate(500, options, scope), 0.2);
}

TEST(Schedule, CosineFallsOnHalfAWave) {
  const ScheduleOptions options{
      .kind = ScheduleKind::kCosine, .learning_rate = 1, .warmup = 10, .final_learning_rate = 0.2};
  const ScheduleScope scope{.updates = 110};
  EXPECT_DOUBLE_EQ(rate(10, options, scope), 1);
  EXPECT_NEAR(rate(35, options, scope), 0.2 + 0.8 * (1 + std::sqrt(0.5)) / 2, 1e-15);
  EXPECT_NEAR(rate(60, options, scope), 0.6, 1e-15);
  EXPECT_NEAR(rate(110, options, scope), 0.2, 1e-15);
}

TEST(Schedule, ConstantStaysAfterTheWarmUp) {
  const ScheduleOptions options{.kind = ScheduleKind::kConstant, .learning_rate = 0.3, .warmup = 3};
  EXPECT_DOUBLE_EQ(rate(1, options), 0.1);
  EXPECT_DOUBLE_EQ(rate(3, options), 0.3);
  EXPECT_DOUBLE_EQ(rate(100000, options), 0.3);
}

TEST(Schedule, WithoutWarmUpStartsAtThePeak) {
  EXPECT_DOUBLE_EQ(rate(1, {.kind = ScheduleKind::kConstant, .learning_rate = 2, .warmup = 0}), 2);
  EXPECT_DOUBLE_EQ(rate(4, {.kind = ScheduleKind::kInverseSqrt, .learning_rate = 2, .warmup = 0}), 1);
}

TEST(Schedule, CountsFromOne) {
  EXPECT_THROW(rate(0, {}), core::Error);
}

}  // namespace
}  // namespace dragoman::training

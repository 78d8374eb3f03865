#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
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

TEST(Schedule, PolynomialIsPyTorchs) {
  // torch.optim.lr_scheduler.PolynomialLR(total_iters=100, power=2) from 1, PyTorch 2.15; ours begins at update 10.
  const ScheduleOptions options{.kind = ScheduleKind::kPolynomial, .learning_rate = 1, .warmup = 10, .power = 2};
  const ScheduleScope scope{.updates = 110};
  const std::vector<std::pair<std::int64_t, double>> golden{{0, 1.0},   {1, 0.9801},  {25, 0.5625},
                                                            {60, 0.16}, {99, 0.0001}, {100, 0}};
  for (const auto& [step, expected] : golden) EXPECT_NEAR(rate(10 + step, options, scope), expected, 1e-12) << step;
  EXPECT_DOUBLE_EQ(rate(5, options, scope), 0.5);
  ScheduleOptions raised = options;
  raised.final_learning_rate = 0.2;
  EXPECT_NEAR(rate(35, raised, scope), 0.2 + 0.8 * 0.5625, 1e-12);
}

TEST(Schedule, CyclicIsPyTorchs) {
  // torch.optim.lr_scheduler.CyclicLR(0.1, 1.0, step_size_up=50), PyTorch 2.15, which is at its peak after 50 steps;
  // the mode triangular2 halves the peaks.
  const std::vector<std::pair<std::int64_t, double>> triangular{{50, 1.0},  {60, 0.82},  {100, 0.1}, {130, 0.64},
                                                                {150, 1.0}, {175, 0.55}, {200, 0.1}, {260, 0.82}};
  const std::vector<std::pair<std::int64_t, double>> halved{
      {50, 1.0}, {60, 0.82}, {100, 0.1}, {130, 0.37}, {150, 0.55}, {175, 0.325}, {200, 0.1}, {250, 0.325}, {260, 0.28}};
  ScheduleOptions options{
      .kind = ScheduleKind::kCyclic, .learning_rate = 1, .warmup = 20, .final_learning_rate = 0.1, .cycle = 100};
  for (const auto& [step, expected] : triangular) EXPECT_NEAR(rate(20 + step - 50, options), expected, 1e-12) << step;
  options.cycle_decay = 0.5;
  for (const auto& [step, expected] : halved) EXPECT_NEAR(rate(20 + step - 50, options), expected, 1e-12) << step;
}

TEST(Schedule, WarmUpStableDecayFallsAtTheEnd) {
  ScheduleOptions options{
      .kind = ScheduleKind::kWsd, .learning_rate = 1, .warmup = 10, .final_learning_rate = 0.2, .decay = 100};
  const ScheduleScope scope{.updates = 1000};
  EXPECT_DOUBLE_EQ(rate(5, options, scope), 0.5);
  for (const std::int64_t update : {10, 500, 900}) EXPECT_DOUBLE_EQ(rate(update, options, scope), 1) << update;
  // A quarter of the decay, by hand: 1 - x; (1 + cos(pi / 4)) / 2; 1 - sqrt(x).
  EXPECT_NEAR(rate(925, options, scope), 0.2 + 0.8 * 0.75, 1e-12);
  options.decay_shape = DecayShape::kCosine;
  EXPECT_NEAR(rate(925, options, scope), 0.2 + 0.8 * (1 + std::sqrt(0.5)) / 2, 1e-12);
  options.decay_shape = DecayShape::kOneMinusSqrt;
  EXPECT_NEAR(rate(925, options, scope), 0.2 + 0.8 * 0.5, 1e-12);
  EXPECT_NEAR(rate(1000, options, scope), 0.2, 1e-12);
  EXPECT_NEAR(rate(2000, options, scope), 0.2, 1e-12);
}

/// What torch.optim.lr_scheduler.ReduceLROnPlateau of PyTorch 2.15 gives from a rate of 1.
TEST(Plateau, ReducesAsPyTorchsDoes) {
  const PlateauOptions options{.factor = 0.5, .patience = 1, .threshold = 0.01, .cooldown = 1};
  const ScheduleOptions schedule{
      .kind = ScheduleKind::kPlateau, .learning_rate = 1, .warmup = 0, .final_learning_rate = 0.2, .plateau = options};
  const std::vector<std::pair<double, double>> golden{{10, 1},      {10.05, 1},    {10.2, 1},   {10.2, 1},
                                                      {10.25, 0.5}, {10.21, 0.5},  {10.1, 0.5}, {9, 0.25},
                                                      {12, 0.25},   {12.05, 0.25}, {12.1, 0.2}, {12.11, 0.2}};
  Plateau plateau(options, true);
  for (const auto& [value, expected] : golden) {
    plateau.observe(value);
    EXPECT_DOUBLE_EQ(rate(1, schedule, {.reductions = plateau.reductions()}), expected) << value;
    Plateau copy(options, true);
    copy.restore(plateau.save(), "here");
    EXPECT_EQ(copy.save(), plateau.save());
    plateau = copy;
  }
}

TEST(Plateau, TakesWhatIsNotFiniteForNoImprovement) {
  Plateau plateau({.factor = 0.1, .patience = 0, .threshold = 1e-4}, false);
  std::vector<std::int64_t> reductions;
  for (const double value : {3.0, 2.0, 2.0, 1.9999, 1.99989, 1.5, std::nan(""), 1.4}) {
    plateau.observe(value);
    reductions.push_back(plateau.reductions());
  }
  // PyTorch 2.15: 1, 1, 0.1, 0.01, 0.001, 0.001, 0.0001, 0.0001.
  EXPECT_EQ(reductions, (std::vector<std::int64_t>{0, 0, 1, 2, 3, 3, 4, 4}));
  EXPECT_THROW(plateau.restore({{"reductions", -1}}, "here"), core::Error);
}

TEST(Schedule, RelativeStepsAreAdafactors) {
  EXPECT_EQ(relative_step_at(1), 0.01);
  EXPECT_EQ(relative_step_at(10000), 0.01);
  EXPECT_EQ(relative_step_at(40000), 0.005);
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

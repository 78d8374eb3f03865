#include "op_harness.h"

#include <cmath>
#include <limits>

#include <dragoman/core/error.h>
#include <dragoman/ops/adam.h>
#include <dragoman/ops/softmax_cross_entropy.h>
#include <dragoman/ops/update.h>
#include <dragoman/ops/update_rules.h>

namespace dragoman::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class UpdateTest : public ::testing::TestWithParam<Device> {
 protected:
  template <class Record>
  Record* place() {
    const Record none{};
    auto* const record = static_cast<Record*>(rig_.context().arena().allocate(sizeof(Record)));
    rig_.context().memory().copy_in(record, &none, sizeof none);
    return record;
  }
  template <class Record>
  Record read(const Record* record) {
    Record result;
    rig_.context().memory().copy_out(&result, record, sizeof result);
    return result;
  }
  Tensor doubles(const std::vector<double>& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    const Tensor row = rig_.context().arena().allocate(1, count, tensor::DType::kF64, rig_.context().device());
    rig_.context().memory().copy_in(row.data, values.data(), values.size() * sizeof(double));
    return row;
  }
  /// Of gradients whose squares have this sum.
  ops::UpdateRecord prepare(const ops::UpdatePlan& plan, double squares, std::optional<double> clipped_squares = {}) {
    ops::prepare_update(rig_.context(),
                        {.plan = rig_.context().upload_copy(plan),
                         .losses = rig_.context().upload_copy(std::span<const ops::LossRecord>(losses_)),
                         .sum_of_squares = doubles({squares}),
                         .clipped_sum_of_squares = clipped_squares ? doubles({*clipped_squares}) : Tensor{},
                         .record = record_});
    return read(record_);
  }

  Rig rig_{GetParam()};
  std::vector<ops::LossRecord> losses_{{.loss = 1.5, .negative_log_likelihood = 1, .alignment = 0.25},
                                       {.loss = 2.5, .negative_log_likelihood = 2, .alignment = 0.5}};
  ops::UpdateRecord* record_ = place<ops::UpdateRecord>();
};
INSTANTIATE_TEST_SUITE_P(Update, UpdateTest, kAllDevices, device_name);

TEST_P(UpdateTest, SumsTheLossesOfManyRows) {
  constexpr std::int64_t kRows = 1003;
  const std::vector<double> losses = random_values(kRows, 1), nlls = random_values(kRows, 2),
                            alignments = random_values(77, 3);
  const auto sum_of = [](const std::vector<double>& values) {
    long double sum = 0;
    for (const double value : values) sum += value;
    return static_cast<double>(sum);
  };
  auto* const record = place<ops::LossRecord>();
  ops::sum_losses(rig_.context(), {.losses = doubles(losses),
                                   .nlls = doubles(nlls),
                                   .alignment_losses = doubles(alignments),
                                   .alignment_weight = 0.5,
                                   .passes = 2,
                                   .record = record});
  const ops::LossRecord found = read(record);
  EXPECT_NEAR(found.alignment, sum_of(alignments) / 2, 1e-11);
  EXPECT_NEAR(found.loss, sum_of(losses) + sum_of(alignments) / 4, 1e-11);
  EXPECT_NEAR(found.negative_log_likelihood, sum_of(nlls), 1e-11);
  ops::sum_losses(rig_.context(), {.record = record});
  EXPECT_EQ(read(record).loss, 0);
  EXPECT_THROW(ops::sum_losses(rig_.context(), {.losses = doubles(losses), .record = record}), core::Error);
}

TEST_P(UpdateTest, PreparesWhatThePlanSays) {
  const ops::UpdatePlan plan{.learning_rate = 0.25, .average_decay = 0.75, .loss_scale = 4, .step = 7};
  const ops::UpdateRecord record = prepare(plan, 144);
  EXPECT_EQ(record.step.skip, 0);
  EXPECT_EQ(record.step.learning_rate, 0.25);
  EXPECT_EQ(record.step.average_decay, 0.75);
  EXPECT_EQ(record.step.step, 7);
  EXPECT_EQ(record.step.gradient_scale, 0.25);
  EXPECT_EQ(record.gradient_norm, 3);
  EXPECT_EQ(record.losses.loss, 4);
  EXPECT_EQ(record.losses.negative_log_likelihood, 3);
  EXPECT_EQ(record.losses.alignment, 0.75);
}

TEST_P(UpdateTest, BringsTheNormDownToItsMost) {
  const auto scale = [&](double clip_norm, std::optional<double> clipped = {}) {
    return prepare({.clip_norm = clip_norm, .loss_scale = 4}, 144, clipped).step.gradient_scale;
  };
  EXPECT_EQ(scale(1.5), 0.5 / 4);
  EXPECT_EQ(scale(3), 1.0 / 4) << "it is no more than that";
  EXPECT_EQ(scale(1.5, 64), 0.75 / 4) << "values were clipped, and have another norm";
  EXPECT_EQ(read(record_).gradient_norm, 2);
}

TEST_P(UpdateTest, HoldsWhatIsNotFiniteAndWhatFollows) {
  EXPECT_EQ(prepare({}, 1).step.skip, 0);
  for (const double bad : {kInfinity, std::nan("")}) {
    EXPECT_EQ(prepare({.depends_on_previous = 1}, bad, 1.0).step.skip, 1);
    EXPECT_FALSE(std::isfinite(read(record_).gradient_norm)) << "that of before values were clipped";
    EXPECT_EQ(prepare({.depends_on_previous = 1}, 1).step.skip, 1);
    EXPECT_EQ(prepare({.depends_on_previous = 1}, 1).step.skip, 1);
    EXPECT_EQ(prepare({}, 1).step.skip, 0) << "somebody has looked";
    EXPECT_EQ(prepare({.depends_on_previous = 1}, 1).step.skip, 0);
    losses_[1].loss = bad;
    const ops::UpdateRecord record = prepare({}, 4);
    EXPECT_EQ(record.step.skip, 1);
    EXPECT_EQ(record.gradient_norm, 2);
    losses_[1].loss = 0;
  }
}

TEST_P(UpdateTest, AHeldStepChangesNothing) {
  Context& context = rig_.context();
  const auto step = context.upload_copy(ops::UpdateStep{.learning_rate = 0.5, .average_decay = 0.5, .skip = 1});
  const std::vector<double> start{1, -2, 3, 4, 5, -6};
  const Tensor p = rig_.matrix(2, 3, start),
               g = rig_.matrix(2, 3, std::vector<double>{1, kInfinity, -1, 2, std::nan(""), 3});
  const auto moment = [&](std::int64_t rows, std::int64_t cols) {
    return rig_.matrix(rows, cols, std::vector<double>(static_cast<std::size_t>(rows * cols), 0.5));
  };
  const Tensor first = moment(2, 3), second = moment(2, 3), rows = moment(1, 2), cols = moment(1, 3);
  const auto flat = [](const Tensor& matrix) {
    Tensor row = matrix;
    row.rows = 1;
    row.cols = row.stride = matrix.size();
    return row;
  };
  ops::adam(context, {.parameters = flat(p),
                      .gradients = flat(g),
                      .first_moment = flat(first),
                      .second_moment = flat(second),
                      .step = step});
  ops::lion(context, {flat(p), flat(g), flat(first), 0.9, 0.99, 0.1, step});
  ops::sgd(context, {flat(p), flat(g), flat(first), 0.9, true, 0.1, step});
  ops::adafactor(
      context,
      {.parameters = p, .gradients = g, .row_moment = rows, .column_moment = cols, .second_moment = {}, .step = step});
  ops::adafactor(
      context,
      {.parameters = p, .gradients = g, .row_moment = {}, .column_moment = {}, .second_moment = second, .step = step});
  ops::moving_average(context, {flat(p), flat(g), step});
  EXPECT_EQ(values_of(p), start);
  for (const Tensor& kept : {first, second, rows, cols})
    for (const double value : values_of(kept)) EXPECT_EQ(value, 0.5);
}

}  // namespace
}  // namespace dragoman::testing

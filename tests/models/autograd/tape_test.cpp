#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/autograd/tape.h>
#include <dragoman/core/error.h>

namespace dragoman::autograd {
namespace {

class TapeTest : public ::testing::Test {
 protected:
  TapeTest() { autograd::training_mode(context_).set_tape(&tape_); }

  Variable scalar(double value, bool wanted = true) {
    const Tensor tensor = context_.allocate(1, 1);
    tensor::set_element(tensor, 0, 0, value);
    return make_variable(context_, tensor, wanted);
  }

  void write(Gradient& gradient, double value) {
    const GradientTarget target = target_of(context_, gradient);
    const double before = target.accumulate ? tensor::element(target.value, 0, 0) : 0;
    tensor::set_element(target.value, 0, 0, before + value);
  }

  double gradient_of(const Variable& variable) { return tensor::element(variable.gradient->value, 0, 0); }

  /// y = factor * x, as an op would record it.
  Variable times(const Variable& x, double factor) {
    const Variable y = scalar(factor * tensor::element(x.value, 0, 0), recording(context_, x));
    if (recording(context_, x))
      tape_.record(context_, y.gradient,
                   [this, x, y, factor](Context&) { write(*x.gradient, factor * gradient_of(y)); });
    return y;
  }

  void seed(const Variable& variable, double value) { seed_gradient(context_, variable, scalar(value, false).value); }

  tensor::KernelTable kernels_{tensor::Device::kReference};
  core::SequentialExecutor executor_;
  Context context_{kernels_, tensor::host_memory(), tensor::DType::kF64, executor_};
  Tape tape_;
};

TEST_F(TapeTest, RunsRecordsFromLastToFirstAndForgetsThem) {
  std::vector<int> order;
  for (int i = 0; i < 4; ++i) tape_.record(context_, nullptr, [&order, i](Context&) { order.push_back(i); });
  tape_.backward(context_);
  EXPECT_EQ(order, (std::vector<int>{3, 2, 1, 0}));
  tape_.backward(context_);
  EXPECT_EQ(order.size(), 4U) << "the records were forgotten";
}

TEST_F(TapeTest, ClearForgetsRecordsWithoutRunningThem) {
  bool ran = false;
  tape_.record(context_, nullptr, [&ran](Context&) { ran = true; });
  tape_.clear();
  tape_.backward(context_);
  EXPECT_FALSE(ran);
}

TEST_F(TapeTest, AppliesTheChainRule) {
  const Variable x = scalar(2);
  const Variable y = times(times(x, 3), 5);
  EXPECT_EQ(tensor::element(y.value, 0, 0), 30);
  seed(y, 10);
  tape_.backward(context_);
  EXPECT_EQ(gradient_of(x), 150);
}

TEST_F(TapeTest, TheFirstWriteAssignsAndLaterOnesAccumulate) {
  const Variable x = scalar(1);
  const GradientTarget first = target_of(context_, *x.gradient);
  EXPECT_FALSE(first.accumulate);
  tensor::set_element(first.value, 0, 0, 4);
  const GradientTarget second = target_of(context_, *x.gradient);
  EXPECT_TRUE(second.accumulate);
  EXPECT_EQ(second.value.data, first.value.data);
}

TEST_F(TapeTest, GradientsOfSeveralConsumersAddUp) {
  const Variable x = scalar(1);
  const Variable a = times(x, 3);
  const Variable b = times(x, 4);
  seed(a, 1);
  seed(b, 10);
  tape_.backward(context_);
  EXPECT_EQ(gradient_of(x), 43);
}

TEST_F(TapeTest, OutputsThatNothingUsesAreSkipped) {
  const Variable x = scalar(1);
  const Variable used = times(x, 2);
  const Variable unused = times(x, 100);
  times(unused, 100);
  seed(used, 1);
  tape_.backward(context_);
  EXPECT_EQ(gradient_of(x), 2);
  EXPECT_FALSE(unused.gradient->written);
}

TEST_F(TapeTest, AGradientWithItsOwnMemoryIsWrittenThere) {
  // Parameters keep their gradients in a flat buffer.
  double memory = 99;
  Gradient gradient{{&memory, 1, 1, 1, tensor::DType::kF64, tensor::Device::kReference}, 1, 1, false};
  const Variable parameter{scalar(1, false).value, &gradient};
  const Variable y = times(parameter, 7);
  seed(y, 1);
  tape_.backward(context_);
  EXPECT_EQ(memory, 7);
  const Variable again = times(parameter, 1);
  seed(again, 1);
  tape_.backward(context_);
  EXPECT_EQ(memory, 8) << "a second micro-batch adds";
}

TEST_F(TapeTest, RecordsOnlyIfATapeIsSetAndAnOperandWantsAGradient) {
  const Variable wanted = scalar(1);
  const Variable constant = scalar(1, false);
  EXPECT_TRUE(recording(context_, constant, wanted));
  EXPECT_FALSE(recording(context_, constant, constant));
  autograd::training_mode(context_).set_tape(nullptr);
  EXPECT_FALSE(recording(context_, wanted));
}

TEST_F(TapeTest, SeedsMustFit) {
  const Variable x = scalar(1);
  EXPECT_THROW(seed_gradient(context_, scalar(1, false), x.value), core::Error) << "records no gradient";
  EXPECT_THROW(seed_gradient(context_, x, context_.allocate(1, 2)), core::Error) << "another shape";
}

/// A gradient is complete when the pass is past the first record that may write it, and not before.
TEST_F(TapeTest, SaysWhenAGradientIsComplete) {
  const Variable x = scalar(2), w = scalar(3), unused = scalar(1);
  const Variable a = times(x, 2);  // record 0
  const Variable b = times(w, 5);  // record 1
  const Variable c = times(a, 3);  // record 2
  const Variable d = times(w, 7);  // record 3: a second use of w
  EXPECT_EQ(x.gradient->first_record, 0);
  EXPECT_EQ(w.gradient->first_record, 1);
  EXPECT_EQ(unused.gradient->first_record, Gradient::kNoRecord);
  std::vector<std::int64_t> heard;
  double when_complete = 0;
  tape_.set_progress([&](std::int64_t left) {
    heard.push_back(left);
    if (left == w.gradient->first_record) when_complete = gradient_of(w);
  });
  for (const Variable& last : {b, c, d}) seed(last, 1);
  tape_.backward(context_);
  EXPECT_EQ(heard, (std::vector<std::int64_t>{4, 3, 2, 1, 0}));
  EXPECT_EQ(when_complete, 12);
  EXPECT_EQ(gradient_of(w), 12);
  EXPECT_EQ(gradient_of(x), 6);
}

TEST_F(TapeTest, RefusesToWriteWhatWasTakenAsComplete) {
  const Variable x = scalar(2);
  const Variable y = times(x, 2);
  x.gradient->taken = true;
  seed(y, 1);
  EXPECT_THROW(tape_.backward(context_), core::Error);
}

/// Products of large tensors, whose records read the operands.
class SpentValues : public TapeTest {
 protected:
  static constexpr std::int64_t kElements = 1 << 17;
  static constexpr std::size_t kBytes = kElements * sizeof(double);

  Variable leaf(double first) {
    const Tensor value = context_.allocate(1, kElements);
    for (std::int64_t i = 0; i < kElements; ++i)
      tensor::set_element(value, 0, i, first + static_cast<double>(i % 7) / 64);
    return make_variable(context_, value, true);
  }

  Variable product(const Variable& a, const Variable& b) {
    recording(context_, a, b);
    const Variable y = make_variable(context_, context_.allocate(1, kElements), true);
    for (std::int64_t i = 0; i < kElements; ++i) tensor::set_element(y.value, 0, i, at(a.value, i) * at(b.value, i));
    tape_.record(context_, y.gradient, [a, b, y](Context& context) {
      for (const auto& [to, other] : {std::pair(a, b), std::pair(b, a)}) {
        const GradientTarget target = target_of(context, *to.gradient);
        for (std::int64_t i = 0; i < kElements; ++i)
          tensor::set_element(
              target.value, 0, i,
              (target.accumulate ? at(target.value, i) : 0.0) + at(y.gradient->value, i) * at(other.value, i));
      }
    });
    return y;
  }

  static double at(const Tensor& tensor, std::int64_t i) { return static_cast<const double*>(tensor.data)[i]; }

  /// The gradient of x in a product of `count` squares of it, all of which are computed first. So their gradients wait
  /// until the pass comes to them.
  std::vector<double> gradient_of_squares(int count, bool spends) {
    context_.step([&] {
      const Variable x = leaf(0.5);
      Variable y = leaf(1);
      const tensor::Arena::Mark begin = context_.arena().mark();
      std::vector<Variable> squares;
      for (int i = 0; i < count; ++i) squares.push_back(product(x, x));
      for (const Variable& square : squares) y = product(y, square);
      const tensor::Arena::Mark end = context_.arena().mark();
      const Variable one = leaf(1);
      seed_gradient(context_, y, one.value);
      tape_.backward(context_, spends ? Tape::Values{begin, end} : Tape::Values{});
      gradient_.clear();
      for (std::int64_t i = 0; i < kElements; ++i) gradient_.push_back(at(x.gradient->value, i));
      EXPECT_EQ(at(one.value, kElements - 1), 1 + static_cast<double>((kElements - 1) % 7) / 64) << "not a spent value";
    });
    return gradient_;
  }

  std::size_t reserved() { return training_mode(context_).gradient_memory().bytes_reserved(); }

  std::vector<double> gradient_;
};

TEST_F(SpentValues, ServeGradients) {
  constexpr int kSquares = 6;
  // The first step has many blocks of memory, the second one has one.
  for (int step = 0; step < 2; ++step) {
    const std::vector<double> gradient = gradient_of_squares(kSquares, true);
    for (std::int64_t i = 0; i < kElements; i += 1009) {
      // y is (1 + d) x^12 for x = 0.5 + d, and its gradient is 1 + d; see leaf().
      const double d = static_cast<double>(i % 7) / 64;
      const double expected = (1 + d) * (1 + d) * 2 * kSquares * std::pow(0.5 + d, 2 * kSquares - 1);
      EXPECT_NEAR(gradient[static_cast<std::size_t>(i)], expected, 1e-12 * expected) << i;
    }
    EXPECT_LE(reserved(), 3 * kBytes) << "the first record writes two gradients before a value is spent";
  }
  const std::vector<double> spending = gradient_;
  EXPECT_EQ(gradient_of_squares(kSquares, false), spending);
  EXPECT_GT(reserved(), kSquares * kBytes) << "gradients of the squares wait";
}

}  // namespace
}  // namespace dragoman::autograd

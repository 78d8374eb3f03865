#include <gtest/gtest.h>

#include <dragoman/autograd/tape.h>
#include <dragoman/autograd/training_mode.h>
#include <dragoman/core/error.h>

namespace dragoman::autograd {
namespace {

class TrainingModeTest : public ::testing::Test {
 protected:
  tensor::KernelTable kernels_{tensor::Device::kCpu};
  core::SequentialExecutor executor_;
  Context context_{kernels_, tensor::host_memory(), tensor::DType::kF32, executor_};
};

TEST_F(TrainingModeTest, AContextWithoutOneIsForInference) {
  EXPECT_EQ(context_.extension<TrainingMode>(), nullptr);
  EXPECT_FALSE(is_training(context_));
  EXPECT_EQ(tape_of(context_), nullptr);
  EXPECT_EQ(training_compute_type(context_), tensor::ComputeType::kF32);
  EXPECT_THROW(next_random(context_), core::Error);
  EXPECT_THROW(next_uniform(context_), core::Error);
}

TEST_F(TrainingModeTest, TheFirstCallAttachesIt) {
  TrainingMode& mode = training_mode(context_);
  EXPECT_EQ(&training_mode(context_), &mode);
  mode.set_training(true);
  mode.set_compute_type(tensor::ComputeType::kBF16);
  EXPECT_TRUE(is_training(context_));
  EXPECT_EQ(training_compute_type(context_), tensor::ComputeType::kBF16);
  EXPECT_THROW(next_random(context_), core::Error) << "it has no seed";
}

TEST_F(TrainingModeTest, EveryRandomOpOfAStepGetsItsOwnStream) {
  training_mode(context_).set_random(7, 3);
  const tensor::RandomState a = next_random(context_);
  const tensor::RandomState b = next_random(context_);
  EXPECT_EQ(a.key->seed, 7U);
  EXPECT_EQ(a.key->step, 3U);
  EXPECT_EQ(a.stream, 0U);
  EXPECT_EQ(b.stream, 1U);
  training_mode(context_).set_random(7, 4);
  EXPECT_EQ(next_random(context_).stream, 0U);
  EXPECT_EQ(a.key->step, 4U) << "the key stays where it is";
}

TEST_F(TrainingModeTest, AReplayedStepGoesOnWithTheRandomNumbers) {
  TrainingMode& mode = training_mode(context_);
  mode.set_random(7, 3);
  next_random(context_);
  next_random(context_);
  const tensor::ExtensionState after = mode.state();
  mode.set_random(7, 4);
  mode.resume(after);
  EXPECT_EQ(next_random(context_).stream, 2U);
}

TEST_F(TrainingModeTest, StateTellsModesApart) {
  TrainingMode& mode = training_mode(context_);
  Tape tape;
  const tensor::ExtensionState inference = mode.state();
  mode.set_training(true);
  const tensor::ExtensionState dropout = mode.state();
  mode.set_tape(&tape);
  const tensor::ExtensionState recorded = mode.state();
  mode.set_compute_type(tensor::ComputeType::kBF16);
  EXPECT_NE(dropout, inference);
  EXPECT_NE(recorded, dropout);
  EXPECT_NE(mode.state(), recorded);
  const tensor::ExtensionState before = mode.state();
  mode.gradient_memory().allocate(1);
  EXPECT_NE(mode.state(), before) << "its memory has grown";
}

TEST_F(TrainingModeTest, NoGradientPutsTheTapeBack) {
  { const NoGradient inference(context_); }
  Tape tape;
  training_mode(context_).set_tape(&tape);
  EXPECT_TRUE(training_mode(context_).keeps_results());
  {
    const NoGradient unrecorded(context_);
    EXPECT_EQ(tape_of(context_), nullptr);
    EXPECT_FALSE(training_mode(context_).keeps_results());
  }
  EXPECT_EQ(tape_of(context_), &tape);
}

}  // namespace
}  // namespace dragoman::autograd

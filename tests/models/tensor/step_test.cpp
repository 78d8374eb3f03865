#include "hidden_memory.h"

#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/parallel.h>
#include <dragoman/tensor/context.h>

namespace dragoman::tensor {
namespace {

/// Keeps results only: a body that is replayed does nothing.
class ResultRecorder final : public StepRecorder {
 public:
  const std::any* replay(const StepSignature& signature) override {
    const auto found = results_.find(signature);
    return found == results_.end() ? nullptr : &found->second;
  }
  void begin(const StepSignature& signature) override { current_ = signature; }
  bool end(std::any output) override {
    if (failures-- > 0) return false;
    results_[*current_] = std::move(output);
    return true;
  }
  bool abandon(const char* reason) noexcept override {
    ++abandoned;
    abandoned_for = reason;
    return failures-- > 0;
  }

  int abandoned = 0;
  std::string abandoned_for;
  int failures = 0;  ///< attempts that cannot be recorded

 private:
  std::map<StepSignature, std::any> results_;
  std::optional<StepSignature> current_;
};

/// State of a layer above, as a context keeps it.
class Counter final : public ContextExtension {
 public:
  static constexpr ExtensionSlot kSlot{1};

  void begin_step() override { ++steps; }
  void free_step_memory() override { ++freed; }
  bool keeps_results() const override { return keeps; }
  bool allows_recording() const override { return !keeps; }
  ExtensionState state() const override { return {mode, count}; }
  void resume(const ExtensionState& state) override { count = state[1]; }

  int steps = 0;
  int freed = 0;
  bool keeps = false;
  std::uint64_t mode = 0;
  std::uint64_t count = 0;
};

class Step : public ::testing::Test {
 protected:
  Step() {
    auto recorder = std::make_unique<ResultRecorder>();
    recorder_ = recorder.get();
    context_.set_recorder(std::move(recorder));
    context_.step([&] { context_.allocate(1, 1); });  // the arena's first block
  }
  /// A step that uploads values; says whether its body ran.
  bool runs(const StepKey& key, std::size_t values) {
    const std::vector<std::int32_t> uploaded(values, 1);
    bool ran = false;
    context_.step(
        [&] {
          context_.indices(uploaded);
          return key;
        },
        [&] {
          ran = true;
          return 0;
        });
    return ran;
  }

  testing::HiddenMemory memory_;
  KernelTable kernels_{Device::of("hidden")};
  core::SequentialExecutor executor_;
  Context context_{kernels_, memory_, DType::kF32, executor_};
  ResultRecorder* recorder_;
};

TEST_F(Step, EqualKeysAreReplayedAndOthersAreNot) {
  EXPECT_TRUE(runs({"a", {1, 2}}, 10));
  EXPECT_FALSE(runs({"a", {1, 2}}, 10));
  EXPECT_TRUE(runs({"a", {1, 3}}, 10));
  EXPECT_TRUE(runs({"b", {1, 2}}, 10));
  EXPECT_FALSE(runs({"a", {1, 2}}, 60)) << "uploads of one bucket lie at the same place";
  EXPECT_TRUE(runs({"a", {1, 2}}, 70)) << "of another they do not";
  context_.step([&] { context_.allocate(1000, 100000); });
  EXPECT_TRUE(runs({"a", {1, 2}}, 10)) << "after the arena has moved";
}

TEST_F(Step, AnExtensionHasAPartInTheSignature) {
  Counter& counter = context_.attach(std::make_unique<Counter>());
  EXPECT_EQ(context_.extension<Counter>(), &counter);
  EXPECT_TRUE(runs({"a"}, 10));
  counter.mode = 1;
  EXPECT_TRUE(runs({"a"}, 10));
  counter.mode = 0;
  EXPECT_FALSE(runs({"a"}, 10));
  counter.keeps = true;
  EXPECT_TRUE(runs({"a"}, 10)) << "it does not allow recording";
  counter.keeps = false;
  EXPECT_FALSE(runs({"a"}, 10));
  EXPECT_EQ(counter.steps, 5);
}

TEST_F(Step, AReplayLeavesWhatTheBodyLeft) {
  Counter& counter = context_.attach(std::make_unique<Counter>());
  const auto step = [&] {
    counter.count = 0;
    return context_.step([&]() -> StepKey { return {"draw"}; },
                         [&] {
                           counter.count += 2;
                           return context_.allocate(3, 4);
                         });
  };
  const Tensor first = step();
  const void* after = context_.allocate(1, 1).data;
  const Tensor second = step();
  EXPECT_EQ(second.data, first.data);
  EXPECT_EQ(second.rows, 3);
  EXPECT_EQ(counter.count, 2U);
  EXPECT_EQ(context_.allocate(1, 1).data, after) << "the step memory is as full as it was";
}

TEST_F(Step, AfterMemoryIsFreedNothingIsReplayed) {
  Counter& counter = context_.attach(std::make_unique<Counter>());
  EXPECT_TRUE(runs({"a"}, 10));
  EXPECT_FALSE(runs({"a"}, 10));
  context_.free_step_memory();
  EXPECT_TRUE(context_.arena().bytes_reserved() == 0 && context_.host_arena().bytes_reserved() == 0);
  EXPECT_EQ(counter.freed, 1);
  EXPECT_TRUE(runs({"a"}, 10)) << "addresses have changed";
  EXPECT_FALSE(runs({"a"}, 10));
}

TEST_F(Step, ABodyMustNotUpload) {
  const std::vector<std::int32_t> values{1, 2};
  EXPECT_THROW(context_.step([&]() -> StepKey { return {"late"}; },
                             [&] {
                               context_.indices(values);
                               return 0;
                             }),
               core::Error);
  EXPECT_EQ(recorder_->abandoned, 1);
  EXPECT_NO_THROW(context_.step([&] { context_.indices(values); })) << "a step that is never recorded may";
}

/// An attempt that cannot be recorded, whether it ends or throws, leaves nothing behind.
TEST_F(Step, ABodyThatCannotBeRecordedRunsAgain) {
  for (const bool throws : {false, true}) {
    Counter& counter = context_.attach(std::make_unique<Counter>());
    counter.count = 5;
    recorder_->failures = 1;
    recorder_->abandoned = 0;
    recorder_->abandoned_for.clear();
    std::vector<const void*> addresses;
    const auto count_of = [&] {
      return context_.step([&]() -> StepKey { return {throws ? "throws" : "ends"}; },
                           [&] {
                             addresses.push_back(context_.allocate(3, 4).data);
                             counter.count += 2;
                             if (throws && addresses.size() == 1) throw std::runtime_error("not now");
                             return counter.count;
                           });
    };
    EXPECT_EQ(count_of(), 7U);
    ASSERT_EQ(addresses.size(), 2U);
    EXPECT_EQ(addresses[0], addresses[1]);
    EXPECT_EQ(counter.count, 7U);
    EXPECT_EQ(counter.steps, 1);
    EXPECT_EQ(recorder_->abandoned, throws ? 1 : 0);
    EXPECT_EQ(recorder_->abandoned_for, throws ? "not now" : "");
    counter.count = 5;
    EXPECT_EQ(count_of(), 7U) << "the second attempt was recorded";
    EXPECT_EQ(addresses.size(), 2U);
  }
}

TEST_F(Step, AnErrorOfBothAttemptsIsThrown) {
  recorder_->failures = 1;
  int attempts = 0;
  EXPECT_THROW(context_.step([&]() -> StepKey { return {"wrong"}; },
                             [&]() -> int {
                               ++attempts;
                               core::fail(core::ErrorCode::kInvalidArgument, "wrong");
                             }),
               core::Error);
  EXPECT_EQ(attempts, 2);
}

TEST_F(Step, RowsAreRoundedUpByFew) {
  for (const std::int64_t rows : {1, 8, 9, 127, 129, 300, 2047, 5000}) {
    const std::int64_t bucket = context_.row_bucket(rows);
    EXPECT_GE(bucket, rows);
    EXPECT_LT(bucket - rows, std::max(std::int64_t{8}, rows / 16 + 1)) << rows;
    EXPECT_EQ(context_.row_bucket(bucket), bucket);
  }
  const Context plain(kernels_, memory_, DType::kF32, executor_);
  EXPECT_EQ(plain.row_bucket(9), 9);
}

TEST_F(Step, BucketsAreForDevicesThatKeepSteps) {
  EXPECT_EQ(context_.bucket(1), 32);
  EXPECT_EQ(context_.bucket(64), 64);
  Context plain(kernels_, memory_, DType::kF32, executor_);
  EXPECT_EQ(plain.bucket(33), 33);
  EXPECT_EQ(plain.coarse_bucket(1001), 1001);
  EXPECT_EQ(context_.coarse_bucket(0), 0);
  for (std::int64_t n = 1; n < 5000; ++n) {
    ASSERT_GE(context_.coarse_bucket(n), n);
    ASSERT_LE(context_.coarse_bucket(n), n + n / 4) << n;
    ASSERT_LE(context_.coarse_bucket(n - 1), context_.coarse_bucket(n)) << n;
  }
}

TEST(LayerMemory, IsNotUsedWhereAnExtensionKeepsResults) {
  KernelTable kernels(Device::kCpu);
  core::SequentialExecutor executor;
  Context context(kernels, host_memory(), DType::kF32, executor);
  const auto reuses = [&] {
    LayerMemory memory(context);
    memory.next_layer();
    const void* const first = context.arena().allocate(1, 16, DType::kF32, Device::kCpu).data;
    memory.next_layer();
    memory.next_layer();
    return context.arena().allocate(1, 16, DType::kF32, Device::kCpu).data == first;
  };
  EXPECT_TRUE(reuses());
  context.attach(std::make_unique<Counter>()).keeps = true;
  EXPECT_FALSE(reuses());
}

TEST(Generations, AreNeverGivenTwice) {
  std::set<std::int64_t> seen;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(seen.insert(next_generation()).second);
}

class Uploads : public ::testing::TestWithParam<bool> {
 protected:
  Uploads() {
    if (GetParam()) context_.set_recorder(std::make_unique<ResultRecorder>());
    context_.step([&] { context_.allocate(1, 1 << 20); });  // room for all below
    before_ = memory_.counts().uploads;
  }
  std::size_t uploads() const { return memory_.counts().uploads - before_; }
  static std::vector<std::int32_t> numbers(std::size_t count) {
    std::vector<std::int32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), static_cast<std::int32_t>(count));
    return numbers;
  }
  std::vector<std::int32_t> on_device(DeviceArray<std::int32_t> uploaded) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(uploaded.size()));
    memory_.copy_out(values.data(), uploaded.data, values.size() * sizeof(std::int32_t));
    return values;
  }

  testing::HiddenMemory memory_;
  std::size_t before_ = 0;
  KernelTable kernels_{Device::of("hidden")};
  core::SequentialExecutor executor_;
  Context context_{kernels_, memory_, DType::kF32, executor_};
};

TEST_P(Uploads, OfAPreparationAreOneCopy) {
  std::vector<DeviceArray<std::int32_t>> uploaded;
  const std::vector<std::size_t> sizes = {1, 63, 64, 65, 0, 1000, 7};
  const auto prepare = [&] {
    for (const std::size_t size : sizes) {
      const std::vector<std::int32_t> temporary = numbers(size);
      uploaded.push_back(context_.upload(std::span(temporary)));
    }
    EXPECT_EQ(uploads(), 0U);
    return StepKey{"a"};
  };
  context_.step(prepare, [&] {
    EXPECT_EQ(uploads(), 1U);
    for (std::size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(on_device(uploaded[i]), numbers(sizes[i]));
    return 0;
  });
  EXPECT_EQ(uploads(), 1U);
}

TEST_P(Uploads, AreThereForAKernelOfThePreparation) {
  context_.step(
      [&] {
        const std::vector<std::int32_t> first = numbers(10);
        const DeviceArray<std::int32_t> uploaded = context_.upload(std::span(first));
        context_.kernels();
        EXPECT_EQ(on_device(uploaded), first);
        const std::vector<std::int32_t> second = numbers(20);
        context_.upload(std::span(second));
        return StepKey{"a"};
      },
      [&] { return 0; });
  EXPECT_EQ(uploads(), 2U);
}

/// What lies between two uploads belongs to somebody else.
TEST_P(Uploads, LeaveAloneWhatLiesBetweenThem) {
  const std::int32_t kMark = 42;
  Tensor between;
  context_.step(
      [&] {
        const std::vector<std::int32_t> values = numbers(10);
        context_.upload(std::span(values));
        between = context_.allocate(1, 1);
        memory_.copy_in(between.data, &kMark, sizeof(kMark));
        context_.upload(std::span(values));
        return StepKey{"a"};
      },
      [&] {
        EXPECT_EQ(on_device({between.as<std::int32_t>(), 1}), std::vector{kMark});
        return 0;
      });
  EXPECT_EQ(uploads(), 2U);
}

TEST_P(Uploads, OfAPreparationThatThrowsAreDropped) {
  const std::vector<std::int32_t> values = numbers(10);
  const auto failing = [&]() -> StepKey {
    context_.upload(std::span(values));
    throw std::runtime_error("no");
  };
  EXPECT_THROW(context_.step(failing, [&] { return 0; }), std::runtime_error);
  context_.kernels();
  context_.step([&] { return StepKey{"a"}; }, [&] { return 0; });
  EXPECT_EQ(uploads(), 0U);
}

TEST_P(Uploads, OfABodyThatIsNotRecordedAreMadeAtOnce) {
  context_.step([&] {
    const std::vector<std::int32_t> values = numbers(10);
    EXPECT_EQ(on_device(context_.upload(std::span(values))), values);
  });
  EXPECT_EQ(uploads(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Devices, Uploads, ::testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Recording" : "Plain"; });

}  // namespace
}  // namespace dragoman::tensor

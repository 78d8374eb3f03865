#include "dragoman/nn/pooled_state.h"

#include "error_message.h"
#include "hidden_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/parallel.h>
#include <dragoman/nn/whole_state.h>

namespace dragoman::nn {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

/// A pool for one layer of history, on memory that the host cannot read: what is looked at here is structure alone.
class PooledStateTest : public ::testing::Test {
 protected:
  PooledStateTest() {
    layout_.add_history(4);
    state_.emplace(context_, layout_);
  }

  std::vector<std::int32_t> admit(std::vector<std::int32_t> source_offsets) {
    std::vector<std::int32_t> slots(source_offsets.size() - 1);
    state_->admit(context_, source_offsets, slots);
    return slots;
  }
  /// One step: rows with so many new tokens each.
  void step(const std::vector<RowRef>& rows, const std::vector<std::int32_t>& lengths) {
    std::vector<std::int32_t> offsets{0};
    for (const std::int32_t length : lengths) offsets.push_back(offsets.back() + length);
    const std::vector<std::int32_t> tokens(static_cast<std::size_t>(offsets.back()), 7);
    state_->set_rows(rows);
    state_->begin_step(context_, {tokens, offsets});
  }
  std::string refusal(const std::vector<RowRef>& rows, const std::vector<std::int32_t>& lengths) {
    return error_of([&] { step(rows, lengths); });
  }
  std::vector<std::int32_t> positions() const {
    const auto host = state_->positions().host;
    return {host.begin(), host.end()};
  }

  testing::HiddenMemory memory_;
  tensor::KernelTable kernels_{tensor::Device::of("hidden")};
  core::SequentialExecutor executor_;
  tensor::Context context_{kernels_, memory_, tensor::DType::kF32, executor_};
  StateLayout layout_;
  std::optional<PooledState> state_;
};

TEST_F(PooledStateTest, PositionsGoOnFromTheParentThatARowNames) {
  const auto slots = admit({0, 3, 5});
  step({{slots[0], -1}, {slots[1], -1}}, {2, 1});
  EXPECT_THAT(positions(), ElementsAre(0, 1, 0));
  step({{slots[0], 0}, {slots[0], 0}, {slots[1], 1}}, {1, 1, 1});
  EXPECT_THAT(positions(), ElementsAre(2, 2, 1));
  EXPECT_EQ(state_->history_length(0), 3);
  EXPECT_EQ(state_->history_length(2), 2);
  EXPECT_EQ(state_->source_length(slots[1]), 2);
}

TEST_F(PooledStateTest, SlotsThatWereReleasedAreUsedAgainAndMemoryComesBack) {
  const auto slots = admit({0, 3, 5});
  step({{slots[0], -1}, {slots[1], -1}}, {1, 1});
  EXPECT_GT(state_->bytes_in_use(), 0U);
  state_->release(slots[0]);
  EXPECT_THAT(admit({0, 4}), ElementsAre(slots[0]));
  state_->release(slots[0]);
  state_->release(slots[1]);
  EXPECT_EQ(state_->bytes_in_use(), 0U);
}

TEST_F(PooledStateTest, RowsOfPaddingTakeNoMemoryAndCannotBeContinued) {
  const auto slots = admit({0, 3});
  const auto padded_step = [&](const std::vector<RowRef>& rows, std::int64_t padding) {
    const std::vector<std::int32_t> tokens(rows.size(), 7);
    std::vector<std::int32_t> offsets;
    for (std::size_t r = 0; r <= rows.size(); ++r) offsets.push_back(static_cast<std::int32_t>(r));
    state_->set_rows(rows, padding);
    state_->begin_step(context_, {tokens, offsets});
  };
  padded_step({{slots[0], -1}, {slots[0], -1}, {slots[0], -1}}, 2);
  const std::size_t one_row = state_->bytes_in_use();
  for (int t = 1; t < 2 * RowPool::kPageRows; ++t) {
    padded_step({{slots[0], 0}, {slots[0], -1}, {slots[0], -1}}, 2);
    EXPECT_EQ(positions(), (std::vector<std::int32_t>{t, 0, 0}));
  }
  EXPECT_EQ(state_->bytes_in_use(), 2 * one_row) << "two pages are one row's";
  EXPECT_THAT(refusal({{slots[0], 1}}, {1}), HasSubstr("row 0 continues row 1, but the last step had 1"));
}

TEST_F(PooledStateTest, RowsThatCannotBeContinuedAreRefused) {
  const auto slots = admit({0, 3, 5});
  step({{slots[0], -1}, {slots[1], -1}}, {1, 1});
  EXPECT_THAT(refusal({{slots[0], 2}}, {1}), HasSubstr("row 0 continues row 2, but the last step had 2"));
  step({{slots[0], -1}, {slots[1], -1}}, {1, 1});
  EXPECT_THAT(refusal({{slots[0], 0}, {slots[1], -2}}, {1, 1}), HasSubstr("row 1 continues row -2"));
  step({{slots[0], -1}, {slots[1], -1}}, {1, 1});
  EXPECT_THAT(refusal({{slots[0], 1}}, {1}), HasSubstr("continues row 1, which is of slot")) << "another sentence's";
  step({{slots[0], -1}, {slots[1], -1}}, {1, 1});
  EXPECT_THAT(refusal({{slots[0], 0}}, {0}), HasSubstr("row 0 has no new tokens"));
  EXPECT_THAT(refusal({{slots[0], -1}}, {1, 1}), HasSubstr("2 token sequences for 1 rows"));
}

TEST_F(PooledStateTest, SlotsThatHoldNothingAreRefused) {
  const auto slots = admit({0, 3, 5});
  for (const std::int32_t slot : {-1, 2, 1 << 30})
    EXPECT_THAT(refusal({{slot, -1}}, {1}), HasSubstr("which holds no sentence")) << slot;
  state_->release(slots[1]);
  EXPECT_THAT(refusal({{slots[1], -1}}, {1}), HasSubstr("which holds no sentence"));
  for (const std::int32_t slot : {slots[1], -1, 99})
    EXPECT_THAT(error_of([&] { state_->release(slot); }), HasSubstr("holds no sentence")) << slot;
}

TEST_F(PooledStateTest, AWholeStateNeedsOneTargetForEachSource) {
  const std::vector<std::int32_t> source_offsets{0, 3, 5};
  WholeState whole({}, context_.indices(source_offsets));
  const std::vector<std::int32_t> tokens{1, 2};
  const std::vector<std::int32_t> one{0, 2};
  EXPECT_THAT(error_of([&] { whole.begin_step(context_, {tokens, one}); }), HasSubstr("1 targets for 2 source"));
}

}  // namespace
}  // namespace dragoman::nn

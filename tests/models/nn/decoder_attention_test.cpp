#include "dragoman/nn/pooled_state.h"
#include "dragoman/nn/whole_state.h"
#include "nn_harness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::nn {
namespace {

using testing::attend;
using testing::error_of;
using ::testing::HasSubstr;
using testing::random_rows;
using testing::ReferenceContext;
using testing::Rows;
using testing::rows_of;

constexpr std::size_t kWidth = 6;
constexpr int kHeads = 2;

/// What one token brings to self-attention.
struct Token {
  std::vector<double> query, key, value;
};

/// Tokens are made of their number, so a test can say what a hypothesis is by listing numbers.
Token token(std::uint64_t number) {
  return {random_rows(1, kWidth, 3 * number)[0], random_rows(1, kWidth, 3 * number + 1)[0],
          random_rows(1, kWidth, 3 * number + 2)[0]};
}

/// Attention of a hypothesis's last token to all of its tokens.
std::vector<double> attend_to_itself(const std::vector<std::uint64_t>& hypothesis) {
  Rows keys, values;
  for (const std::uint64_t number : hypothesis) {
    keys.push_back(token(number).key);
    values.push_back(token(number).value);
  }
  return attend(token(hypothesis.back()).query, keys, values, kHeads);
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t j = 0; j < actual.size(); ++j) EXPECT_NEAR(actual[j], expected[j], 1e-12) << what << ", " << j;
}

/// A state as layers use it.
DecoderState& layers_view(DecoderState& state) {
  return state;
}

/// Compares what a state gives to layers with attention by hand over each hypothesis's own tokens.
class DecoderAttentionTest : public ::testing::Test {
 protected:
  DecoderAttentionTest() : history_(layout_.add_history(kWidth)), memory_(layout_.add_memory(kWidth)) {}

  /// Keys and values of the sources' tokens, which both kinds of state are given.
  std::vector<KeyValue> source_memories(std::size_t tokens) {
    source_keys_ = random_rows(tokens, kWidth, 1000);
    source_values_ = random_rows(tokens, kWidth, 1001);
    return {{{reference_.tensor(source_keys_), nullptr}, {reference_.tensor(source_values_), nullptr}}};
  }
  std::vector<std::int32_t> admit(PooledState& state, const std::vector<std::int32_t>& offsets) {
    std::vector<std::int32_t> slots(offsets.size() - 1);
    context_.step([&] {
      state.admit(context_, offsets, slots);
      state.store_memories(context_, source_memories(static_cast<std::size_t>(offsets.back())));
    });
    return slots;
  }
  /// Appends tokens to the state's rows and returns self-attention, [tokens, width].
  template <class State>
  Rows append(State& state, const std::vector<std::vector<std::uint64_t>>& tokens_of_rows) {
    std::vector<std::int32_t> tokens, offsets{0};
    Rows queries, keys, values;
    for (const auto& row : tokens_of_rows) {
      for (const std::uint64_t number : row) {
        tokens.push_back(1);
        queries.push_back(token(number).query);
        keys.push_back(token(number).key);
        values.push_back(token(number).value);
      }
      offsets.push_back(static_cast<std::int32_t>(tokens.size()));
    }
    Rows result;
    context_.step([&] {
      state.begin_step(context_, {tokens, offsets});
      result = rows_of(layers_view(state)
                           .attend_history(context_, history_, {reference_.tensor(queries), nullptr},
                                           {reference_.tensor(keys), nullptr}, {reference_.tensor(values), nullptr},
                                           kHeads, 0)
                           .value);
    });
    return result;
  }
  Rows step(PooledState& state, const std::vector<RowRef>& rows,
            const std::vector<std::vector<std::uint64_t>>& tokens_of_rows) {
    state.set_rows(rows);
    return append(state, tokens_of_rows);
  }
  /// Cross-attention of one query for each of so many new tokens per row.
  template <class State>
  Rows look_at_source(State& state, const Rows& queries, const std::vector<std::int32_t>& offsets) {
    const std::vector<std::int32_t> tokens(queries.size(), 1);
    state.begin_step(context_, {tokens, offsets});
    return rows_of(
        layers_view(state).attend_memory(context_, memory_, {reference_.tensor(queries), nullptr}, kHeads, 0).value);
  }
  /// The same by hand, over source tokens [begin, end).
  std::vector<double> attend_to_source(const std::vector<double>& query, std::ptrdiff_t begin, std::ptrdiff_t end,
                                       Rows* weights = nullptr) const {
    return attend(query, {source_keys_.begin() + begin, source_keys_.begin() + end},
                  {source_values_.begin() + begin, source_values_.begin() + end}, kHeads, weights);
  }

  ReferenceContext reference_;
  tensor::Context& context_ = reference_.context;
  StateLayout layout_;
  HistoryId history_;
  MemoryId memory_;
  Rows source_keys_;
  Rows source_values_;
};

TEST_F(DecoderAttentionTest, EachHypothesisReadsItsOwnAncestors) {
  PooledState state(context_, layout_);
  const auto slots = admit(state, {0, 2, 5});
  // Two sentences, which take turns; beams of the first cross over, one of them is dropped and another one splits.
  Rows found = step(state, {{slots[0], -1}, {slots[1], -1}}, {{1}, {50}});
  expect_near(found[0], attend_to_itself({1}), "first token");
  found = step(state, {{slots[1], 1}, {slots[0], 0}, {slots[0], 0}}, {{51}, {2}, {3}});
  expect_near(found[0], attend_to_itself({50, 51}), "other sentence");
  expect_near(found[1], attend_to_itself({1, 2}), "one beam");
  expect_near(found[2], attend_to_itself({1, 3}), "the other");
  found = step(state, {{slots[0], 2}, {slots[0], 1}, {slots[0], 2}}, {{4}, {5}, {6}});
  expect_near(found[0], attend_to_itself({1, 3, 4}), "crossed");
  expect_near(found[1], attend_to_itself({1, 2, 5}), "crossed back");
  expect_near(found[2], attend_to_itself({1, 3, 6}), "split");
  found = step(state, {{slots[0], 2}}, {{7}});
  expect_near(found[0], attend_to_itself({1, 3, 6, 7}), "the others were dropped");
}

TEST_F(DecoderAttentionTest, SeveralTokensAtOnceEqualTheSameTokensOneByOne) {
  PooledState state(context_, layout_);
  const auto slots = admit(state, {0, 1});
  const Rows prefix = step(state, {{slots[0], -1}}, {{1, 2, 3}});
  expect_near(prefix[0], attend_to_itself({1}), "0");
  expect_near(prefix[1], attend_to_itself({1, 2}), "1");
  expect_near(prefix[2], attend_to_itself({1, 2, 3}), "2");
  expect_near(step(state, {{slots[0], 0}}, {{4}})[0], attend_to_itself({1, 2, 3, 4}), "3");
}

/// Pages hold 16 rows, and the pool moves when it grows.
TEST_F(DecoderAttentionTest, LongHistoriesSurviveNewPagesAndMoves) {
  PooledState state(context_, layout_);
  const auto slots = admit(state, {0, 1, 2});
  const std::int64_t generation = state.generation();
  std::vector<std::uint64_t> one{1}, other{501};
  step(state, {{slots[0], -1}, {slots[1], -1}}, {{1}, {501}});
  for (std::uint64_t t = 2; t <= 300; ++t) {
    one.push_back(t);
    other.push_back(500 + t);
    const Rows found = step(state, {{slots[0], 0}, {slots[1], 1}}, {{one.back()}, {other.back()}});
    if (t % 37 != 0) continue;
    expect_near(found[0], attend_to_itself(one), "one");
    expect_near(found[1], attend_to_itself(other), "other");
  }
  EXPECT_NE(state.generation(), generation);
  EXPECT_EQ(state.longest_history(), 300);
}

TEST_F(DecoderAttentionTest, WholeTargetsAreCausal) {
  const std::vector<std::int32_t> source_offsets{0, 1, 2};
  WholeState state({}, context_.indices(source_offsets));
  const Rows found = append(state, {{1, 2, 3}, {4, 5}});
  expect_near(found[0], attend_to_itself({1}), "0");
  expect_near(found[1], attend_to_itself({1, 2}), "1");
  expect_near(found[2], attend_to_itself({1, 2, 3}), "2");
  expect_near(found[3], attend_to_itself({4}), "3");
  expect_near(found[4], attend_to_itself({4, 5}), "4");
}

TEST_F(DecoderAttentionTest, PooledRowsLookAtTheirOwnSource) {
  PooledState state(context_, layout_);
  const auto slots = admit(state, {0, 20, 23});
  const Rows queries = random_rows(4, kWidth, 2000);
  state.set_rows(std::vector<RowRef>{{slots[1], -1}, {slots[0], -1}, {slots[1], -1}});
  context_.step([&] {
    const Rows found = look_at_source(state, queries, {0, 1, 3, 4});
    expect_near(found[0], attend_to_source(queries[0], 20, 23), "second sentence");
    expect_near(found[1], attend_to_source(queries[1], 0, 20), "first sentence");
    expect_near(found[2], attend_to_source(queries[2], 0, 20), "its second token");
    expect_near(found[3], attend_to_source(queries[3], 20, 23), "second hypothesis");
  });
  EXPECT_EQ(state.longest_source(), 20);
}

TEST_F(DecoderAttentionTest, MemoriesOfASentenceThatIsReleasedAreOverwrittenByTheNext) {
  PooledState state(context_, layout_);
  const auto first = admit(state, {0, 5, 9});
  const Rows kept_keys = source_keys_;
  const Rows kept_values = source_values_;
  state.release(first[0]);
  const auto second = admit(state, {0, 7});
  const Rows queries = random_rows(2, kWidth, 2000);
  state.set_rows(std::vector<RowRef>{{first[1], -1}, {second[0], -1}});
  context_.step([&] {
    const Rows found = look_at_source(state, queries, {0, 1, 2});
    expect_near(found[0],
                attend(queries[0], {kept_keys.begin() + 5, kept_keys.end()},
                       {kept_values.begin() + 5, kept_values.end()}, kHeads),
                "who stayed");
    expect_near(found[1], attend_to_source(queries[1], 0, 7), "who came");
  });
}

TEST_F(DecoderAttentionTest, WholeTargetsLookAtTheirOwnSource) {
  const std::vector<std::int32_t> source_offsets{0, 4, 6};
  const Rows queries = random_rows(3, kWidth, 2000);
  context_.step([&] {
    const std::vector<KeyValue> memories = source_memories(6);
    WholeState state(memories, context_.indices(source_offsets));
    const Rows found = look_at_source(state, queries, {0, 2, 3});
    expect_near(found[0], attend_to_source(queries[0], 0, 4), "0");
    expect_near(found[1], attend_to_source(queries[1], 0, 4), "1");
    expect_near(found[2], attend_to_source(queries[2], 4, 6), "2");
  });
}

TEST_F(DecoderAttentionTest, AnAlignmentIsTheMeanOfTheHeadsThatWereAskedFor) {
  const std::vector<std::int32_t> source_offsets{0, 4, 6};
  const std::vector<std::int32_t> target_offsets{0, 2, 3};  // alignment() looks at them
  const Rows queries = random_rows(3, kWidth, 2000);
  PooledState pooled(context_, layout_);
  const auto slots = admit(pooled, source_offsets);
  pooled.set_rows(std::vector<RowRef>{{slots[0], -1}, {slots[1], -1}});
  const auto check = [&](auto& state, int heads) {
    state.request_alignment({memory_, heads});
    look_at_source(state, queries, target_offsets);
    for (const std::size_t t : {0, 1, 2}) {
      Rows weights;
      attend_to_source(queries[t], t < 2 ? 0 : 4, t < 2 ? 4 : 6, &weights);
      std::vector<double> expected = weights[0];
      for (std::size_t j = 0; heads == 2 && j < expected.size(); ++j) expected[j] = (expected[j] + weights[1][j]) / 2;
      const std::vector<float> found = state.alignment(static_cast<std::int64_t>(t));
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t j = 0; j < found.size(); ++j)
        EXPECT_NEAR(found[j], expected[j], 1e-6) << "heads " << heads << " token " << t;
    }
  };
  for (const int heads : {1, 2}) {
    context_.step([&] {
      const std::vector<KeyValue> memories = source_memories(6);
      check(pooled, heads);
    });
    context_.step([&] {
      const std::vector<KeyValue> memories = source_memories(6);
      WholeState whole(memories, context_.indices(source_offsets));
      check(whole, heads);
    });
  }
}

TEST_F(DecoderAttentionTest, BothKindsOfStatesRoundKeysAndValuesUnlessWeightsAreMultipliedInFp32) {
  const std::vector<std::int32_t> source_offsets{0, 4, 6};
  const Rows queries = random_rows(2, kWidth, 2000);
  PooledState pooled(context_, layout_, tensor::ComputeType::kI8);
  const auto slots = admit(pooled, source_offsets);
  pooled.set_rows(std::vector<RowRef>{{slots[0], -1}, {slots[1], -1}});
  context_.step([&] {
    const Rows from_pool = look_at_source(pooled, queries, {0, 1, 2});
    for (const tensor::ComputeType type : {tensor::ComputeType::kF32, tensor::ComputeType::kI8}) {
      const std::vector<KeyValue> memories = source_memories(6);
      WholeState state(memories, context_.indices(source_offsets), type);
      const Rows found = look_at_source(state, queries, {0, 1, 2});
      for (std::size_t t = 0; t < 2; ++t) {
        double furthest = 0;
        for (std::size_t i = 0; i < found[t].size(); ++i)
          furthest = std::max(furthest, std::abs(found[t][i] - from_pool[t][i]));
        if (type == tensor::ComputeType::kI8)
          EXPECT_LT(furthest, 1e-12) << "token " << t;
        else
          EXPECT_GT(furthest, 1e-6) << "token " << t;
      }
    }
  });
  PooledState plain(context_, layout_);
  EXPECT_LT(pooled.bytes_of(100), plain.bytes_of(100));
}

TEST_F(DecoderAttentionTest, AlignmentsThatWereNotAskedForAreNotKept) {
  PooledState state(context_, layout_);
  const auto slots = admit(state, {0, 3});
  state.set_rows(std::vector<RowRef>{{slots[0], -1}});
  context_.step([&] {
    look_at_source(state, random_rows(1, kWidth, 2000), {0, 1});
    EXPECT_TRUE(state.kept_attention().empty());
    EXPECT_THAT(error_of([&] { state.alignment(0); }), HasSubstr("no alignment was kept"));
  });
}

/// A state of one row per hypothesis, as a recurrent cell keeps it.
class RowStateTest : public ::testing::Test {
 protected:
  RowStateTest() : id_(layout_.add_row_state(2)), state_(context_, layout_) {}

  /// One step; returns what the rows' parents had left, and leaves `latest`.
  Rows step(const std::vector<RowRef>& rows, const Rows& latest) {
    std::vector<std::int32_t> offsets{0};
    for (std::size_t r = 0; r < rows.size(); ++r) offsets.push_back(offsets.back() + 1);
    const std::vector<std::int32_t> tokens(rows.size(), 1);
    state_.set_rows(rows);
    Rows found;
    context_.step([&] {
      state_.begin_step(context_, {tokens, offsets});
      found = rows_of(layers_view(state_).previous(context_, id_));
      layers_view(state_).store(context_, id_, reference_.tensor(latest));
    });
    return found;
  }

  ReferenceContext reference_;
  tensor::Context& context_ = reference_.context;
  StateLayout layout_;
  RowStateId id_;
  PooledState state_;
};

TEST_F(RowStateTest, IsThatOfTheParentAndZeroForAFreshRow) {
  std::vector<std::int32_t> slots(2);
  state_.admit(context_, std::vector<std::int32_t>{0, 1, 2}, slots);
  EXPECT_EQ(step({{slots[0], -1}, {slots[1], -1}}, {{1, 2}, {3, 4}}), (Rows{{0, 0}, {0, 0}}));
  EXPECT_EQ(step({{slots[1], 1}, {slots[0], 0}, {slots[0], 0}, {slots[0], -1}}, {{5, 6}, {7, 8}, {9, 10}, {11, 12}}),
            (Rows{{3, 4}, {1, 2}, {1, 2}, {0, 0}}));
  EXPECT_EQ(step({{slots[0], 3}, {slots[0], 1}, {slots[0], 3}}, {{0, 0}, {0, 0}, {0, 0}}),
            (Rows{{11, 12}, {7, 8}, {11, 12}}));
}

TEST_F(RowStateTest, SurvivesTheGrowthOfTheBatch) {
  std::vector<std::int32_t> slot(1);
  state_.admit(context_, std::vector<std::int32_t>{0, 1}, slot);
  step({{slot[0], -1}}, {{1, 2}});
  const std::int64_t generation = state_.generation();
  const std::vector<RowRef> many(40, RowRef{slot[0], 0});
  EXPECT_EQ(step(many, Rows(40, {3, 4})), Rows(40, {1, 2}));
  EXPECT_NE(state_.generation(), generation) << "it has moved";
  EXPECT_THROW(step({{slot[0], 0}}, {{1, 2}, {3, 4}}), core::Error) << "two states for one row";
}

TEST_F(RowStateTest, IsNotKeptBetweenWholeTargets) {
  const std::vector<std::int32_t> offsets{0, 1};
  WholeState whole({}, context_.indices(offsets));
  layers_view(whole).store(context_, id_, reference_.tensor({{1, 2}}));
  EXPECT_TRUE(layers_view(whole).previous(context_, id_).empty());
}

}  // namespace
}  // namespace dragoman::nn

#include "steps/graph_recorder.h"

#include <gtest/gtest.h>

#include <dragoman/core/error.h>

// Which steps are kept, for how long, and what of a step that fails.
namespace dragoman::backend::cuda {
namespace {

struct Launches {
  int launched = 0;     ///< graphs
  int alive = 0;        ///< graphs
  int abandoned = 0;    ///< captures
  bool open = false;    ///< a capture
  bool broken = false;  ///< what is captured cannot be kept
};

class CountedGraph final : public LaunchGraph {
 public:
  explicit CountedGraph(Launches& launches) : launches_(launches) { ++launches_.alive; }
  CountedGraph(const CountedGraph&) = delete;
  CountedGraph& operator=(const CountedGraph&) = delete;
  ~CountedGraph() override { --launches_.alive; }
  void launch() override { ++launches_.launched; }

 private:
  Launches& launches_;
};

class CountedCapture final : public LaunchCapture {
 public:
  explicit CountedCapture(Launches& launches) : launches_(launches) {}
  void begin() override {
    EXPECT_FALSE(launches_.open);
    launches_.open = true;
  }
  std::unique_ptr<LaunchGraph> end() override {
    launches_.open = false;
    core::require(!launches_.broken, core::ErrorCode::kInternal, "broken");
    return std::make_unique<CountedGraph>(launches_);
  }
  void abandon() noexcept override {
    launches_.open = false;
    ++launches_.abandoned;
  }

 private:
  Launches& launches_;
};

class Recorder : public ::testing::Test {
 protected:
  static tensor::StepSignature step(std::int64_t number, std::uint64_t generation = 1) {
    return {{"step", {number}}, {}, generation};
  }
  /// What the context does with a step; its output, -1 if the body was not called.
  int run(const tensor::StepSignature& signature, int output) {
    if (const std::any* kept = recorder_.replay(signature)) {
      EXPECT_EQ(std::any_cast<int>(*kept) % 100, output % 100);
      return -1;
    }
    recorder_.begin(signature);
    recorder_.end(output);
    return output;
  }

  Launches launches_;
  GraphCounts counts_;
  GraphRecorder recorder_{std::make_unique<CountedCapture>(launches_), &counts_};
};

TEST_F(Recorder, RunsOnceKeepsOnceAndThenRepeats) {
  EXPECT_EQ(run(step(1), 101), 101);
  EXPECT_EQ(launches_.launched, 0);
  EXPECT_EQ(run(step(1), 201), 201);
  EXPECT_EQ(launches_.launched, 1) << "what was kept has not run";
  EXPECT_EQ(run(step(2), 102), 102);
  EXPECT_EQ(run(step(1), 301), -1);
  EXPECT_EQ(run(step(1), 301), -1);
  EXPECT_EQ(launches_.launched, 3);
  EXPECT_EQ(counts_.run, 3U);
  EXPECT_EQ(counts_.recorded, 1U);
  EXPECT_EQ(counts_.replayed, 2U);
}

TEST_F(Recorder, WhatMovedIsForgotten) {
  for (int i = 0; i < 2; ++i) run(step(1, 1), 1);
  for (int i = 0; i < 2; ++i) run(step(2, 1), 2);
  EXPECT_EQ(launches_.alive, 2);
  EXPECT_EQ(run(step(1, 2), 1), 1);
  EXPECT_EQ(launches_.alive, 0);
  EXPECT_EQ(recorder_.kept(), 1U);
}

TEST_F(Recorder, OfManyThoseSeenLastAreKept) {
  constexpr auto kMax = static_cast<int>(GraphRecorder::kMaxKept);
  for (int i = 0; i < kMax; ++i)
    for (int time = 0; time < 2; ++time) run(step(i), i);
  EXPECT_EQ(run(step(0), 0), -1);  // seen again, so not the oldest
  run(step(kMax), kMax);
  EXPECT_EQ(recorder_.kept(), GraphRecorder::kMaxKept);
  EXPECT_EQ(run(step(0), 0), -1);
  EXPECT_EQ(run(step(1), 1), 1) << "the oldest is still there";
}

TEST_F(Recorder, ABodyThatFailsIsNotKept) {
  run(step(1), 1);
  recorder_.begin(step(1));
  EXPECT_TRUE(launches_.open);
  recorder_.abandon();
  EXPECT_EQ(launches_.abandoned, 1);
  EXPECT_EQ(run(step(1), 1), 1);
  EXPECT_EQ(run(step(1), 1), -1);
  // A first run is not captured, so nothing is to be given up.
  recorder_.begin(step(2));
  recorder_.abandon();
  EXPECT_EQ(launches_.abandoned, 1);
}

TEST_F(Recorder, ACaptureThatFailsIsAnErrorAndNothingIsKept) {
  run(step(1), 1);
  launches_.broken = true;
  recorder_.begin(step(1));
  EXPECT_THROW(recorder_.end(1), core::Error);
  launches_.broken = false;
  EXPECT_EQ(run(step(1), 1), 1);
  EXPECT_EQ(run(step(1), 1), -1);
}

}  // namespace
}  // namespace dragoman::backend::cuda

#include "steps/graph_recorder.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/error.h>

// Which steps are kept, for how long, and what of a step that fails.
namespace dragoman::backend::cuda {
namespace {

struct Launches {
  int launched = 0;           ///< graphs
  int alive = 0;              ///< graphs
  int abandoned = 0;          ///< captures
  bool open = false;          ///< a capture
  bool broken = false;        ///< what is captured cannot be kept
  bool closed = false;        ///< a capture cannot begin
  std::uint64_t bytes = 100;  ///< of each graph
};

class CountedGraph final : public LaunchGraph {
 public:
  explicit CountedGraph(Launches& launches) : launches_(launches) { ++launches_.alive; }
  CountedGraph(const CountedGraph&) = delete;
  CountedGraph& operator=(const CountedGraph&) = delete;
  ~CountedGraph() override { --launches_.alive; }
  void launch() override { ++launches_.launched; }
  std::uint64_t bytes() const override { return launches_.bytes; }

 private:
  Launches& launches_;
};

class CountedCapture final : public LaunchCapture {
 public:
  explicit CountedCapture(Launches& launches) : launches_(launches) {}
  void begin() override {
    EXPECT_FALSE(launches_.open);
    core::require(!launches_.closed, core::ErrorCode::kInternal, "closed");
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
  /// What the context does with a step whose body leaves `output`. Returns how often the body ran.
  int run(const tensor::StepSignature& signature, int output) {
    if (const std::any* kept = recorder_.replay(signature)) {
      EXPECT_EQ(std::any_cast<int>(*kept), output);
      return 0;
    }
    recorder_.begin(signature);
    int attempts = 1;
    while (!recorder_.end(output)) ++attempts;
    return attempts;
  }

  Launches launches_;
  GraphCounts counts_;
  std::vector<std::string> told_;
  GraphRecorder recorder_{std::make_unique<CountedCapture>(launches_), &counts_,
                          [this](const std::string& reason) { told_.push_back(reason); }};
};

TEST_F(Recorder, RunsOnceKeepsOnceAndThenRepeats) {
  EXPECT_EQ(run(step(1), 1), 1);
  EXPECT_EQ(launches_.launched, 0);
  EXPECT_EQ(run(step(1), 1), 1);
  EXPECT_EQ(launches_.launched, 1) << "what was kept has not run";
  EXPECT_EQ(run(step(2), 2), 1);
  EXPECT_EQ(run(step(1), 1), 0);
  EXPECT_EQ(run(step(1), 1), 0);
  EXPECT_EQ(launches_.launched, 3);
  EXPECT_EQ(counts_.run, 3U);
  EXPECT_EQ(counts_.recorded, 1U);
  EXPECT_EQ(counts_.replayed, 2U);
  EXPECT_EQ(counts_.refused, 0U);
}

TEST_F(Recorder, WhatMovedIsForgotten) {
  for (int i = 0; i < 2; ++i) run(step(1, 1), 1);
  for (int i = 0; i < 2; ++i) run(step(2, 1), 2);
  run(step(3, 1), 3);
  EXPECT_EQ(launches_.alive, 2);
  EXPECT_EQ(run(step(1, 2), 1), 1);
  EXPECT_EQ(launches_.alive, 0);
  EXPECT_EQ(recorder_.graphs(), 0U);
  EXPECT_EQ(recorder_.seen(), 1U);
}

TEST_F(Recorder, OfManyThoseSeenLastAreKept) {
  constexpr auto kMax = static_cast<int>(GraphRecorder::kMaxGraphs);
  for (int i = 0; i < kMax; ++i)
    for (int time = 0; time < 2; ++time) run(step(i), i);
  EXPECT_EQ(run(step(0), 0), 0);  // launched again, so not the oldest
  for (int time = 0; time < 2; ++time) run(step(kMax), kMax);
  EXPECT_EQ(recorder_.graphs(), GraphRecorder::kMaxGraphs);
  EXPECT_EQ(launches_.alive, kMax);
  EXPECT_EQ(run(step(0), 0), 0);
  EXPECT_EQ(run(step(1), 1), 1) << "the oldest is still there";
}

TEST_F(Recorder, StepsThatDoNotRepeatTakeNoGraphsPlace) {
  for (int time = 0; time < 2; ++time) run(step(-1), -1);
  constexpr auto kMany = 3 * static_cast<int>(GraphRecorder::kMaxSeen);
  for (int i = 0; i < kMany; ++i) run(step(i), i);
  EXPECT_EQ(run(step(-1), -1), 0);
  EXPECT_EQ(recorder_.seen(), GraphRecorder::kMaxSeen);
}

TEST_F(Recorder, GraphsThatTakeTooMuchMemoryAreForgotten) {
  launches_.bytes = GraphRecorder::kMaxBytes / 4;
  for (int i = 0; i < 6; ++i)
    for (int time = 0; time < 2; ++time) run(step(i), i);
  EXPECT_EQ(launches_.alive, 4);
  EXPECT_EQ(run(step(5), 5), 0);
  EXPECT_EQ(run(step(1), 1), 1);
  // The newest one stays, however large it is.
  launches_.bytes = 2 * GraphRecorder::kMaxBytes;
  for (int time = 0; time < 2; ++time) run(step(7), 7);
  EXPECT_EQ(run(step(7), 7), 0);
}

TEST_F(Recorder, ABodyThatFailsIsNotKept) {
  run(step(1), 1);
  recorder_.begin(step(1));
  EXPECT_TRUE(launches_.open);
  EXPECT_TRUE(recorder_.abandon("a fault")) << "nothing has run";
  EXPECT_EQ(launches_.abandoned, 1);
  EXPECT_FALSE(recorder_.abandon("the same fault")) << "of the second attempt, which has run";
  EXPECT_EQ(launches_.abandoned, 1);
  EXPECT_TRUE(told_.empty()) << "the body is at fault";
  EXPECT_EQ(run(step(1), 1), 1);
  EXPECT_EQ(run(step(1), 1), 0);
  // A first run is not captured, so nothing is to be given up.
  recorder_.begin(step(2));
  EXPECT_FALSE(recorder_.abandon("a fault"));
  EXPECT_EQ(launches_.abandoned, 1);
}

TEST_F(Recorder, ABodyThatCannotBeCapturedRunsWithoutThat) {
  run(step(1), 1);
  launches_.broken = true;
  EXPECT_EQ(run(step(1), 1), 2);
  EXPECT_EQ(told_, (std::vector<std::string>{"broken"}));
  launches_.broken = false;
  EXPECT_EQ(run(step(1), 1), 1) << "it is not tried again";
  EXPECT_EQ(counts_.refused, 1U);
  // Another one whose body ends early, and works the second time.
  run(step(2), 2);
  recorder_.begin(step(2));
  EXPECT_TRUE(recorder_.abandon("cannot be captured"));
  EXPECT_TRUE(recorder_.end(2));
  EXPECT_EQ(told_, (std::vector<std::string>{"broken", "cannot be captured"}));
  // And one whose capture does not begin: its only attempt is the whole one.
  run(step(3), 3);
  launches_.closed = true;
  EXPECT_EQ(run(step(3), 3), 1);
  EXPECT_EQ(told_.back(), "closed");
  launches_.closed = false;
  for (int time = 0; time < 2; ++time) run(step(4), 4);
  EXPECT_EQ(run(step(4), 4), 0) << "others are kept";
}

TEST_F(Recorder, AfterManyFailuresNothingIsCaptured) {
  launches_.broken = true;
  for (int i = 0; i < 20; ++i)
    for (int time = 0; time < 2; ++time) run(step(i), i);
  EXPECT_EQ(counts_.refused, GraphRecorder::kMaxRefused);
}

}  // namespace
}  // namespace dragoman::backend::cuda

#include "graph_recorder.h"

#include <exception>
#include <utility>

namespace dragoman::backend::cuda {

GraphRecorder::GraphRecorder(std::unique_ptr<LaunchCapture> capture, GraphCounts* counts, OnRefusal on_refusal)
    : capture_(std::move(capture)),
      counts_(counts != nullptr ? counts : &own_counts_),
      on_refusal_(std::move(on_refusal)) {}

GraphRecorder::~GraphRecorder() = default;

const std::any* GraphRecorder::replay(const tensor::StepSignature& signature) {
  const auto found = places_.find(signature);
  if (found == places_.end() || found->second->graph == nullptr) return nullptr;
  graphs_.splice(graphs_.begin(), graphs_, found->second);
  graphs_.front().graph->launch();
  ++counts_->replayed;
  return &graphs_.front().output;
}

void GraphRecorder::begin(const tensor::StepSignature& signature) {
  drop_outdated(signature.arena_generation);
  ++counts_->run;
  attempt_ = Attempt::kPlain;
  const auto found = places_.find(signature);
  if (found == places_.end()) {
    if (seen_.size() >= kMaxSeen) forget(seen_, std::prev(seen_.end()));
    seen_.push_front({.signature = signature, .graph = nullptr, .output = {}});
    places_.emplace(signature, seen_.begin());
    return;
  }
  seen_.splice(seen_.begin(), seen_, found->second);
  if (seen_.front().refused || refused_ >= kMaxRefused) return;
  try {
    capture_->begin();
    attempt_ = Attempt::kCaptured;
  } catch (const std::exception& error) {
    attempt_ = Attempt::kAfterFailure;
    reason_ = error.what();
  }
}

bool GraphRecorder::end(std::any output) {
  switch (std::exchange(attempt_, Attempt::kPlain)) {
    case Attempt::kPlain:
      return true;
    case Attempt::kAfterFailure:
      refuse();
      return true;
    case Attempt::kCaptured:
      break;
  }
  try {
    std::unique_ptr<LaunchGraph> graph = capture_->end();
    graph->launch();  // so far nothing was run
    keep(std::move(graph), std::move(output));
    return true;
  } catch (const std::exception& error) {
    attempt_ = Attempt::kAfterFailure;
    reason_ = error.what();
    return false;
  }
}

bool GraphRecorder::abandon(const char* reason) noexcept {
  if (std::exchange(attempt_, Attempt::kPlain) != Attempt::kCaptured) return false;
  capture_->abandon();
  attempt_ = Attempt::kAfterFailure;
  reason_ = reason;
  return true;
}

void GraphRecorder::keep(std::unique_ptr<LaunchGraph> graph, std::any output) {
  graphs_.splice(graphs_.begin(), seen_, seen_.begin());
  Step& step = graphs_.front();
  step.graph = std::move(graph);
  step.output = std::move(output);
  bytes_ += step.graph->bytes();
  ++counts_->recorded;
  while (graphs_.size() > 1 && (graphs_.size() > kMaxGraphs || bytes_ > kMaxBytes))
    forget(graphs_, std::prev(graphs_.end()));
}

void GraphRecorder::refuse() {
  seen_.front().refused = true;
  ++refused_;
  ++counts_->refused;
  if (on_refusal_) on_refusal_(reason_);
}

void GraphRecorder::drop_outdated(std::uint64_t generation) {
  if (generation <= generation_) return;
  generation_ = generation;
  for (Steps* steps : {&graphs_, &seen_})
    for (auto step = steps->begin(); step != steps->end();) {
      const auto next = std::next(step);
      if (step->signature.arena_generation < generation) forget(*steps, step);
      step = next;
    }
}

void GraphRecorder::forget(Steps& steps, Steps::iterator step) {
  if (step->graph != nullptr) bytes_ -= step->graph->bytes();
  places_.erase(step->signature);
  steps.erase(step);
}

}  // namespace dragoman::backend::cuda

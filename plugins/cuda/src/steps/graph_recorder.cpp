#include "graph_recorder.h"

#include <utility>

namespace dragoman::backend::cuda {

GraphRecorder::GraphRecorder(std::unique_ptr<LaunchCapture> capture, GraphCounts* counts)
    : capture_(std::move(capture)), counts_(counts != nullptr ? counts : &own_counts_) {}

GraphRecorder::~GraphRecorder() = default;

const std::any* GraphRecorder::replay(const tensor::StepSignature& signature) {
  const auto found = places_.find(signature);
  if (found == places_.end() || found->second->graph == nullptr) return nullptr;
  steps_.splice(steps_.begin(), steps_, found->second);
  steps_.front().graph->launch();
  ++counts_->replayed;
  return &steps_.front().output;
}

void GraphRecorder::begin(const tensor::StepSignature& signature) {
  drop_outdated(signature.arena_generation);
  ++counts_->run;
  const auto found = places_.find(signature);
  if (found == places_.end()) {
    if (steps_.size() >= kMaxKept) forget(std::prev(steps_.end()));
    steps_.push_front({.signature = signature, .graph = nullptr, .output = {}});
    places_.emplace(signature, steps_.begin());
    return;
  }
  steps_.splice(steps_.begin(), steps_, found->second);
  capture_->begin();
  capturing_ = true;
}

void GraphRecorder::end(std::any output) {
  if (!std::exchange(capturing_, false)) return;
  Step& step = steps_.front();
  step.graph = capture_->end();
  step.output = std::move(output);
  step.graph->launch();  // so far nothing was run
  ++counts_->recorded;
}

void GraphRecorder::abandon() noexcept {
  if (std::exchange(capturing_, false)) capture_->abandon();
}

void GraphRecorder::drop_outdated(std::uint64_t generation) {
  if (generation <= generation_) return;
  generation_ = generation;
  for (auto step = steps_.begin(); step != steps_.end();) {
    const auto next = std::next(step);
    if (step->signature.arena_generation < generation) forget(step);
    step = next;
  }
}

void GraphRecorder::forget(Steps::iterator step) {
  places_.erase(step->signature);
  steps_.erase(step);
}

}  // namespace dragoman::backend::cuda

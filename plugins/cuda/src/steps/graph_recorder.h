#pragma once

#include <list>
#include <map>
#include <memory>

#include <dragoman/tensor/step_recorder.h>

namespace dragoman::backend::cuda {

/// Launches that were kept, to be made again all at once.
class LaunchGraph {
 public:
  virtual ~LaunchGraph() = default;
  /// In the order of the calling thread's stream.
  virtual void launch() = 0;
};

/// Keeps what the calling thread launches, and does not run it: as CUDA's stream capture does, of one thread.
class LaunchCapture {
 public:
  virtual ~LaunchCapture() = default;
  virtual void begin() = 0;
  /// Error{kInternal} if something was done meanwhile that cannot be kept, such as waiting.
  virtual std::unique_ptr<LaunchGraph> end() = 0;
  /// Forgets what was kept since begin().
  virtual void abandon() noexcept = 0;
};

/// How many bodies were run, with or without being kept, and how many graphs launched in place of one.
struct GraphCounts {
  std::size_t run = 0;
  std::size_t recorded = 0;
  std::size_t replayed = 0;
};

/// Keeps the launches of a step's body the second time that its signature comes, and makes them again from the third
/// time on: the first time tables may still be made, and products be timed. Of many signatures those are forgotten that
/// were not seen for the longest time, and, when the arenas move, all that were made before: they cannot come again.
class GraphRecorder final : public tensor::StepRecorder {
 public:
  static constexpr std::size_t kMaxKept = 128;

  /// `counts` (nullptr: nobody counts) outlives the recorder.
  explicit GraphRecorder(std::unique_ptr<LaunchCapture> capture, GraphCounts* counts = nullptr);
  ~GraphRecorder() override;

  const std::any* replay(const tensor::StepSignature& signature) override;
  void begin(const tensor::StepSignature& signature) override;
  void end(std::any output) override;
  void abandon() noexcept override;

  std::size_t kept() const noexcept { return steps_.size(); }

 private:
  struct Step {
    tensor::StepSignature signature;
    std::unique_ptr<LaunchGraph> graph;
    std::any output;
  };
  using Steps = std::list<Step>;

  void drop_outdated(std::uint64_t generation);
  void forget(Steps::iterator step);

  std::unique_ptr<LaunchCapture> capture_;
  GraphCounts own_counts_;
  GraphCounts* counts_;
  Steps steps_;  ///< those seen last come first
  std::map<tensor::StepSignature, Steps::iterator> places_;
  std::uint64_t generation_ = 0;
  bool capturing_ = false;  ///< the body that runs, which is the first of steps_
};

}  // namespace dragoman::backend::cuda

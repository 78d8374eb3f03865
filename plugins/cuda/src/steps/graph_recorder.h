#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include <dragoman/tensor/step_recorder.h>

namespace dragoman::backend::cuda {

/// Launches that were kept, to be made again all at once.
class LaunchGraph {
 public:
  virtual ~LaunchGraph() = default;
  /// In the order of the calling thread's stream.
  virtual void launch() = 0;
  /// Memory of the device that the graph takes, about.
  virtual std::uint64_t bytes() const = 0;
};

/// Keeps what the calling thread launches, and does not run it: as CUDA's stream capture does, of one thread.
class LaunchCapture {
 public:
  virtual ~LaunchCapture() = default;
  virtual void begin() = 0;
  /// Throws if something was done meanwhile that cannot be kept, such as waiting, or if the graph has no room.
  virtual std::unique_ptr<LaunchGraph> end() = 0;
  /// Forgets what was kept since begin().
  virtual void abandon() noexcept = 0;
};

/// How many bodies were run, with or without being kept, how many graphs were launched in place of one, and how many
/// bodies were to be kept and could not be.
struct GraphCounts {
  std::size_t run = 0;
  std::size_t recorded = 0;
  std::size_t replayed = 0;
  std::size_t refused = 0;
};

/// Keeps the launches of a step's body the second time that its signature comes, and makes them again from the third
/// time on: the first time tables may still be made, and products be timed.
///
/// Graphs that were not launched for the longest time are forgotten when there are too many, or when they take too much
/// memory. Signatures that came once have a list of their own, so steps that never repeat take no graph's place. When
/// the arenas move, all earlier signatures are forgotten, since they cannot come again.
///
/// A body that cannot be captured runs without that, now and whenever its signature comes.
class GraphRecorder final : public tensor::StepRecorder {
 public:
  static constexpr std::size_t kMaxGraphs = 128;
  static constexpr std::size_t kMaxSeen = 1024;  ///< signatures without a graph
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
  /// After so many bodies that could not be captured, no more are tried.
  static constexpr std::size_t kMaxRefused = 8;

  /// Is called with the reason when a body could not be captured and has run without that.
  using OnRefusal = std::function<void(const std::string& reason)>;

  /// `counts` (nullptr: nobody counts) outlives the recorder.
  explicit GraphRecorder(std::unique_ptr<LaunchCapture> capture, GraphCounts* counts = nullptr,
                         OnRefusal on_refusal = nullptr);
  ~GraphRecorder() override;

  const std::any* replay(const tensor::StepSignature& signature) override;
  void begin(const tensor::StepSignature& signature) override;
  bool end(std::any output) override;
  bool abandon(const char* reason) noexcept override;

  std::size_t graphs() const noexcept { return graphs_.size(); }
  std::size_t seen() const noexcept { return seen_.size(); }

 private:
  struct Step {
    tensor::StepSignature signature;
    std::unique_ptr<LaunchGraph> graph;
    std::any output;
    bool refused = false;
  };
  using Steps = std::list<Step>;
  enum class Attempt { kPlain, kCaptured, kAfterFailure };

  void drop_outdated(std::uint64_t generation);
  void forget(Steps& steps, Steps::iterator step);
  void keep(std::unique_ptr<LaunchGraph> graph, std::any output);
  void refuse();

  std::unique_ptr<LaunchCapture> capture_;
  GraphCounts own_counts_;
  GraphCounts* counts_;
  OnRefusal on_refusal_;
  Steps graphs_;  ///< those launched last come first
  Steps seen_;    ///< without a graph; those seen last come first
  std::map<tensor::StepSignature, Steps::iterator> places_;
  std::uint64_t bytes_ = 0;  ///< of graphs_
  std::uint64_t generation_ = 0;
  std::size_t refused_ = 0;
  Attempt attempt_ = Attempt::kPlain;  ///< of the body that runs, which is the first of seen_
  std::string reason_;                 ///< why the attempt before has failed
};

}  // namespace dragoman::backend::cuda

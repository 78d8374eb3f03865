#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include <dragoman/core/parallel.h>
#include <dragoman/training/batches.h>
#include <dragoman/training/config.h>
#include <dragoman/training/training_state.h>

namespace dragoman::training {

/// Which pairs of a corpus form a window of batches: for a corpus in memory the whole epoch, for one on disk those of
/// some of its blocks.
struct WindowKey {
  std::int64_t epoch = 0;
  std::size_t phase = 0;
  std::int64_t window = 0;
  bool operator==(const WindowKey&) const = default;
};

/// Batches of an epoch that follow one another, with all that they need.
struct BatchWindow {
  const EncodedPairs* pairs = nullptr;  ///< the corpus's, or `own`
  EncodedPairs own;
  std::optional<EpochPlan> plan;
};

/// Makes windows, each a pure function of corpus, configuration and key: in whatever order and by whatever thread they
/// are made, they are the same. An epoch of a corpus on disk shuffles the blocks (a block comes as often as its text's
/// weight says, of what is left of the weight with so large a share of its pairs, drawn anew), and then the pairs
/// within a window of kWindowBlocks. Both must outlive it.
class WindowMaker {
 public:
  static constexpr std::size_t kWindowBlocks = 8;
  WindowMaker(const TrainingConfig& config, const Corpus& corpus) : config_(&config), corpus_(&corpus) {}

  std::unique_ptr<BatchWindow> make(const WindowKey& key, core::Executor& executor, const std::stop_token& stop) const;
  /// Of an epoch.
  std::int64_t windows(std::int64_t epoch, std::size_t phase) const;
  /// What an epoch has of all texts, each as often as its weight says.
  std::uint64_t pairs_of_epoch(std::size_t phase) const;
  /// What an epoch has of the windows' tokens, for estimates: those of both sides.
  double tokens_of_epoch(std::size_t phase) const;

 private:
  /// A block, or a share of it, in the order of an epoch.
  struct BlockUse {
    std::size_t block = 0;
    std::uint64_t pairs = 0;  ///< so many of it
  };
  std::vector<double> weights_of(std::size_t phase) const;
  std::vector<BlockUse> order_of_epoch(std::int64_t epoch, std::size_t phase) const;
  void append_share(const BlockUse& use, std::int64_t epoch, EncodedPairs& pairs, const std::stop_token& stop) const;

  const TrainingConfig* config_;
  const Corpus* corpus_;
};

/// The batches of a run, in order, one epoch after the other. The window that comes next is read, cut into pieces and
/// planned by a thread of its own while batches of this one are trained on. One thread at a time.
class BatchSource {
 public:
  /// Both must outlive it; `executor` makes what is needed at once.
  BatchSource(const TrainingConfig& config, const Corpus& corpus, core::Executor& executor);
  ~BatchSource();
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;

  /// Goes to the epoch, phase and batch of `state`: what comes before is given up. Begins with the window that `state`
  /// names. Error{kBadInput} if the epoch has no such batch.
  void go_to(const TrainingState& state);
  /// How many batches of the epoch, from the one of go_to(), there are, at most `most`.
  std::int64_t available(std::int64_t most);
  /// Of batch `i` behind that of go_to(), which available() must have counted: its target tokens, and its content.
  std::int64_t target_tokens(std::int64_t i) const;
  void assign(std::int64_t i, Batch& batch, std::int32_t decoder_start, std::int64_t bucket) const;
  /// Whether the epoch goes on behind so many batches from that of go_to().
  bool goes_on_behind(std::int64_t batches) const;
  /// Of an epoch as the one of go_to(): exact in memory, else estimated from what was seen of it.
  std::int64_t batches_of_epoch() const;
  /// Moves `state` past an update of so many batches.
  void advance(TrainingState& state, std::int64_t batches) const;
  /// Seconds that its callers have waited for windows, since the last call.
  double take_waiting() noexcept;

 private:
  struct Ahead;
  struct Loaded {
    std::int64_t window = 0;
    std::int64_t first_batch = 0;  ///< of the epoch
    std::unique_ptr<BatchWindow> content;
    std::int64_t end() const { return first_batch + content->plan->batches(); }
  };

  void load(std::int64_t window, std::int64_t first_batch);
  void load_next();
  std::unique_ptr<BatchWindow> take(const WindowKey& key);
  void start_ahead(const WindowKey& key);
  const Loaded& window_of(std::int64_t batch) const;
  void note_window(TrainingState& state) const;

  const TrainingConfig* config_;
  WindowMaker maker_;
  core::Executor* executor_;
  WindowKey key_{.epoch = -1};  ///< of the epoch and its phase; the window is unused
  std::int64_t windows_ = 0;
  std::int64_t batch_ = 0;
  std::deque<Loaded> loaded_;
  std::unique_ptr<Ahead> ahead_;
  double waited_ = 0;
};

}  // namespace dragoman::training

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

/// Identifies the pairs of a corpus that form a window of batches: the whole epoch if the corpus is in memory, the
/// pairs of some of its blocks if it is on disk.
struct WindowKey {
  std::int64_t epoch = 0;
  std::size_t phase = 0;
  std::int64_t window = 0;
  bool operator==(const WindowKey&) const = default;
};

/// Consecutive batches of an epoch, with the data that they need.
struct BatchWindow {
  const EncodedPairs* pairs = nullptr;  ///< the pairs of the corpus, or `own`
  EncodedPairs own;
  std::optional<EpochPlan> plan;
};

/// Creates windows. A window is a pure function of corpus, configuration and key; the order and the thread do not
/// matter. An epoch of a corpus on disk shuffles the blocks, and then the pairs within a window of kWindowBlocks. A
/// block occurs as often as the weight of its text specifies; the fractional part of the weight selects that share of
/// its pairs, drawn again in each epoch. Both references must outlive the object.
class WindowMaker {
 public:
  static constexpr std::size_t kWindowBlocks = 8;
  WindowMaker(const TrainingConfig& config, const Corpus& corpus) : config_(&config), corpus_(&corpus) {}

  std::unique_ptr<BatchWindow> make(const WindowKey& key, core::Executor& executor, const std::stop_token& stop) const;
  /// Returns the number of windows of an epoch.
  std::int64_t windows(std::int64_t epoch, std::size_t phase) const;
  /// Returns the number of pairs in an epoch, over all texts and with their weights.
  std::uint64_t pairs_of_epoch(std::size_t phase) const;
  /// Returns the number of tokens in the windows of an epoch, over both sides, for estimates.
  double tokens_of_epoch(std::size_t phase) const;

 private:
  /// A block, or a share of it, in the order of an epoch.
  struct BlockUse {
    std::size_t block = 0;
    std::uint64_t pairs = 0;  ///< number of its pairs to use
  };
  std::vector<double> weights_of(std::size_t phase) const;
  std::vector<BlockUse> order_of_epoch(std::int64_t epoch, std::size_t phase) const;
  void append_share(const BlockUse& use, std::int64_t epoch, EncodedPairs& pairs, const std::stop_token& stop) const;

  const TrainingConfig* config_;
  const Corpus* corpus_;
};

/// The batches of a run, in order, one epoch after the other. While batches of one window are trained on, a separate
/// thread reads, encodes and plans the next window. Not thread-safe.
class BatchSource {
 public:
  /// Both references must outlive the object. `executor` creates windows that are needed immediately.
  BatchSource(const TrainingConfig& config, const Corpus& corpus, core::Executor& executor);
  ~BatchSource();
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;

  /// Goes to the epoch, phase and batch of `state`, and drops earlier windows. Starts with the window that `state`
  /// names. Error{kBadInput} if the epoch has no such batch.
  void go_to(const TrainingState& state);
  /// Returns the number of batches in the epoch from the one of go_to() on, at most `most`.
  std::int64_t available(std::int64_t most);
  /// Return the target tokens, and the content, of batch `i` after the one of go_to(). available() must have counted
  /// it.
  std::int64_t target_tokens(std::int64_t i) const;
  void assign(std::int64_t i, Batch& batch, std::int32_t decoder_start, std::int64_t bucket) const;
  /// Returns whether the epoch continues after `batches` batches from that of go_to().
  bool goes_on_behind(std::int64_t batches) const;
  /// Returns the number of batches of the current epoch. Exact in memory, otherwise estimated from the windows so far.
  std::int64_t batches_of_epoch() const;
  /// Moves `state` past an update of `batches` batches.
  void advance(TrainingState& state, std::int64_t batches) const;
  /// Returns the seconds that callers have waited for windows since the last call.
  double take_waiting() noexcept;

 private:
  struct Ahead;
  struct Loaded {
    std::int64_t window = 0;
    std::int64_t first_batch = 0;  ///< in the epoch
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
  WindowKey key_{.epoch = -1};  ///< the epoch and its phase; the window is unused
  std::int64_t windows_ = 0;
  std::int64_t batch_ = 0;
  std::deque<Loaded> loaded_;
  std::unique_ptr<Ahead> ahead_;
  double waited_ = 0;
};

}  // namespace dragoman::training

#pragma once

#include "active_sentence.h"
#include "dragoman/decoding/decoding_loop.h"
#include "strategies/searcher.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace dragoman::decoding {

/// The sentences that a loop has in the model. The pool takes sentences from a source as rows become free, encodes them
/// together, and delivers results. Belongs to one loop.
class SentencePool {
 public:
  using Active = std::unique_ptr<ActiveSentence>;

  /// Sentences without a search use `usual`. Error if it is invalid for this model. All arguments must outlive the
  /// pool.
  SentencePool(StepModel& model, SharedSearch usual, const LoopLimits& limits, LoopStatistics& statistics);

  /// Prepares for a run, whose source may have sentences again.
  void open() noexcept { exhausted_ = false; }
  /// Ends the sentences that their source has stopped.
  void drop_stopped(SentenceSource& source, HypothesisSink& sink);
  /// Fills free rows, if there are enough of them.
  void admit(SentenceSource& source, HypothesisSink& sink);
  /// Delivers the sentences that have no living hypothesis left.
  void deliver(HypothesisSink& sink);
  /// Releases all sentences from the model, without results.
  void release_all() noexcept;

  /// Returns the sentences in the model.
  const std::vector<Active>& active() const noexcept { return active_; }
  /// Returns whether the model has no sentences and the source has ended.
  bool done() const noexcept { return active_.empty() && exhausted_ && pending_ == nullptr; }

 private:
  std::int64_t maximum_rows() const;
  std::int64_t maximum_encoder_tokens() const;
  bool wants_more() const;
  void collect_group(SentenceSource& source, HypothesisSink& sink);
  Active pull(SentenceSource& source, HypothesisSink& sink, bool may_wait);
  bool fits(const ActiveSentence& sentence, std::int64_t group_tokens) const;
  void admit_group();
  void hand_over(ActiveSentence& sentence, HypothesisSink& sink);
  void count(const Hypothesis& best, std::size_t source_tokens);

  StepModel& model_;
  SharedSearch usual_;
  LoopLimits limits_;
  LoopStatistics& statistics_;
  Searchers searchers_;

  std::vector<Active> active_;
  std::vector<Active> group_;
  std::vector<Active> spare_;
  /// A sentence that was pulled but did not fit yet.
  Active pending_;
  /// The hypotheses that the sentences in `active_` and `group_` may keep, and those of the last sentence that was
  /// pulled. The next sentence is assumed to need the same number, and is not pulled if there is no room for it.
  std::int64_t reserved_rows_ = 0;
  std::int64_t expected_rows_ = 1;
  bool exhausted_ = false;

  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> offsets_;
  std::vector<std::int32_t> slots_;
};

}  // namespace dragoman::decoding

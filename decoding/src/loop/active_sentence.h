#pragma once

#include "dragoman/decoding/sentence.h"
#include "dragoman/decoding/step_model.h"
#include "strategies/searcher.h"

#include <exception>
#include <vector>

namespace dragoman::decoding {

/// One sentence in flight: its state, its slot in the model, and the bookkeeping between steps. Objects and their
/// memory are reused for later sentences.
class ActiveSentence {
 public:
  SentenceState state;
  std::int32_t slot = -1;
  Searcher* searcher = nullptr;
  /// The maximum number of rows that it needs.
  std::int32_t maximum_live = 1;
  /// If steps run ahead: its first row in the step whose candidates are awaited, and its first row and number of rows
  /// in the step that was begun after that one. -1: it has no rows in the step.
  std::int32_t awaited_row = -1;
  std::int32_t next_row = -1;
  std::int32_t next_rows = 0;
  /// The tokens that its hypotheses may choose, ascending. Empty: the whole vocabulary.
  std::vector<std::int32_t> shortlist;
  /// The reason why it has no result, or nullptr.
  std::exception_ptr failure;

  /// Starts state.sentence as a new sentence for `searcher`.
  void begin(const nn::SequenceSpec& spec);
  /// Returns the row of living hypothesis `index` in the last step that it continues; -1 before the first step.
  std::int32_t parent_row(std::size_t index) const { return fresh_ ? -1 : first_row_ + parents_[index]; }
  bool fresh() const noexcept { return fresh_; }

  /// Stores the results of a step for the appended tokens. The sentence's rows began at `first_row` and `first_token`,
  /// with `tokens_per_row` tokens per living hypothesis.
  void record(const StepResult& result, std::int32_t first_row, std::int64_t first_token, std::int64_t tokens_per_row);
  /// Applies the decision of the strategy.
  void apply(const Advance& advance);
  /// Ends the sentence because the scores of the model are not finite.
  void give_up();
  /// Drops the living hypotheses.
  void abandon() { state.live.clear(); }
  void fail(std::exception_ptr error);
  /// Releases everything that it holds for others, and keeps its memory for a later sentence.
  void retire();

 private:
  void finish(const Advance::Ending& ending);
  void drop_surplus(std::int32_t per_start);
  double coverage(const Hypothesis& hypothesis) const;

  bool fresh_ = true;
  std::int32_t first_row_ = 0;
  std::vector<std::int32_t> parents_;
  std::vector<LiveHypothesis> next_;
};

}  // namespace dragoman::decoding

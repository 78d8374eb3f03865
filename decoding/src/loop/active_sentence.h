#pragma once

#include "dragoman/decoding/sentence.h"
#include "dragoman/decoding/step_model.h"
#include "strategies/searcher.h"

#include <exception>
#include <vector>

namespace dragoman::decoding {

/// One sentence in flight: its state, its place in the model, and the bookkeeping between steps. Objects are reused for
/// later sentences, so that their memory is, too.
class ActiveSentence {
 public:
  SentenceState state;
  std::int32_t slot = -1;
  Searcher* searcher = nullptr;
  /// Rows that it may need.
  std::int32_t maximum_live = 1;
  /// Where steps run ahead: its first row in the step whose candidates are awaited, and in the one that was begun on
  /// top of that, with how many rows it has there; -1: it is in none.
  std::int32_t awaited_row = -1;
  std::int32_t next_row = -1;
  std::int32_t next_rows = 0;
  /// What its hypotheses may choose from, rising; empty: the whole vocabulary.
  std::vector<std::int32_t> shortlist;
  /// Why it has no result, if it has none.
  std::exception_ptr failure;

  /// Takes state.sentence as a new one, for `searcher`.
  void begin(const nn::SequenceSpec& spec);
  /// Row of living hypothesis `index` in the last step that it continues; -1 before the first.
  std::int32_t parent_row(std::size_t index) const { return fresh_ ? -1 : first_row_ + parents_[index]; }
  bool fresh() const noexcept { return fresh_; }

  /// Notes what a step that began at `first_row` and `first_token` told about the tokens that it appended.
  /// `tokens_per_row` of each living hypothesis were in it.
  void record(const StepResult& result, std::int32_t first_row, std::int64_t first_token, std::int64_t tokens_per_row);
  /// Carries out what the strategy decided.
  void apply(const Advance& advance);
  /// Ends it because the model's scores are not finite.
  void give_up();
  /// Drops the living.
  void abandon() { state.live.clear(); }
  void fail(std::exception_ptr error);
  /// Forgets what it holds on behalf of others, and keeps its memory for a later sentence.
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

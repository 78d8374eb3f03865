#pragma once

#include "subject.h"

#include <vector>

#include <dragoman/nn/pooled_state.h>

namespace dragoman::plugins {

/// Runs a subject like a decoding loop: sentences come and go, and each step continues any rows of the last one.
class Stepper {
 public:
  explicit Stepper(Subject& subject) : subject_(&subject), state_(subject.context(), subject.model().state_layout()) {}

  std::vector<std::int32_t> admit(const std::vector<Tokens>& sources);
  std::int32_t admit(const Tokens& source) { return admit(std::vector<Tokens>{source}).front(); }
  void release(std::int32_t slot) { state_.release(slot); }

  /// Row r continues the hypothesis rows[r] with the tokens next[r]. Returns one row of states for each new token.
  Matrix step(const std::vector<nn::RowRef>& rows, const std::vector<Tokens>& next);
  nn::PooledState& state() noexcept { return state_; }

 private:
  Subject* subject_;
  nn::PooledState state_;
  Ragged next_;  ///< of the last step; its offsets are needed for its alignments
};

/// Returns the states of each pair's target in the order of decode_whole(). The targets are fed token by token (the
/// first `prefix` tokens together), all pairs in parallel.
Matrix decode_stepwise(Subject& subject, const std::vector<Pair>& pairs, std::size_t prefix = 1);

}  // namespace dragoman::plugins

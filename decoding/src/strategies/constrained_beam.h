#pragma once

#include "constraint_progress.h"
#include "dragoman/decoding/strategy.h"

#include <cstdint>
#include <vector>

namespace dragoman::decoding {

/// Beam search for sentences with constraints, by dynamic beam allocation (Post and Vilar 2018). Hypotheses are sorted
/// into banks by the number of constraint tokens that they have met. Each bank has its share of the beam, and places
/// that a bank cannot fill go to the best of the other hypotheses. Every step offers each hypothesis the tokens that
/// continue a constraint. A hypothesis cannot end before it has met all constraints, and cannot take a token that
/// leaves too little room for the rest. This estimate counts constraints separately: near the maximum length, a
/// translation whose constraints share tokens may be missed.
class ConstrainedBeam {
 public:
  explicit ConstrainedBeam(const DecodingOptions& options);

  /// At least one place per bank, up to kMaxBanks.
  std::int32_t maximum_live(const Sentence& sentence) const;
  void advance(SentenceState& state, const Candidates& candidates, Advance& result);
  bool done(const SentenceState& state) const;

 private:
  static constexpr std::int32_t kMaxBanks = 64;

  struct Choice {
    double total;
    std::int32_t parent;
    std::int32_t token;
    double log_probability;
    std::int32_t bank;
    bool ends;
    bool taken = false;
  };
  struct Parent {
    ConstraintProgress progress;
    /// Whether the remaining tokens cannot meet the constraints.
    bool hopeless;
  };

  void read_parents(const SentenceState& state);
  void collect(const SentenceState& state, const Candidates& candidates);
  void offer(const SentenceState& state, std::int32_t parent, std::int32_t token, double log_probability);
  std::int32_t bank_of(std::int32_t remaining) const;
  void fill_banks(std::int32_t width, Advance& result);
  template <class IsIn>
  std::int32_t take(std::int32_t places, const IsIn& in, Advance& result);
  void end_all(const SentenceState& state, Advance& result) const;

  std::int32_t beam_size_;
  std::int32_t n_best_;
  LengthPenalty rules_;
  std::int32_t wanted_endings_;
  std::int32_t banks_ = 1;
  std::int32_t total_ = 0;
  std::vector<Parent> parents_;
  std::vector<Choice> choices_;
};

}  // namespace dragoman::decoding

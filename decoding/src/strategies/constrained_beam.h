#pragma once

#include "constraint_progress.h"
#include "dragoman/decoding/strategy.h"

#include <cstdint>
#include <vector>

namespace dragoman::decoding {

/// Beam search for sentences with constraints, by dynamic beam allocation (Post and Vilar 2018): hypotheses are sorted
/// into banks by the number of tokens of constraints that they have met, each bank has its share of the beam, and
/// places that a bank cannot fill go to the best of all others. Every step offers each hypothesis the tokens that go on
/// with a constraint; none ends before it has met all, and none goes where the longest length would not let it (which
/// counts constraints apart, so that at the very end a translation may be passed over in which they share tokens).
class ConstrainedBeam {
 public:
  explicit ConstrainedBeam(const DecodingOptions& options);

  /// At least one place for each bank, up to kMaxBanks.
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
    /// Not even all tokens that are left could meet the constraints.
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

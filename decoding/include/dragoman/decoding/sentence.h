#pragma once

#include <any>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dragoman/decoding/constraint.h>
#include <dragoman/decoding/hypothesis.h>
#include <dragoman/decoding/options.h>

namespace dragoman::decoding {

class SearchPlan;
class Shortlist;

/// What is to be translated.
struct Sentence {
  /// The caller's own; comes back with the result.
  std::uint64_t id = 0;
  /// With the closing end.
  std::vector<std::int32_t> source{};
  /// Every hypothesis starts with these tokens.
  std::vector<std::int32_t> target_prefix{};
  /// What its hypotheses must hold, the prefix included; for strategies that take constraints. A hypothesis says which
  /// it does not meet, where the longest length, or what is suppressed, makes that impossible.
  std::vector<Constraint> constraints{};
  /// Where words begin and end, so that constraints are met by whole words; nullptr: every token is one.
  std::shared_ptr<const WordBoundaries> boundaries{};
  /// What random draws are keyed by (with the seed): a sentence's samples depend on it and on nothing around it. Below
  /// 2^48.
  std::uint64_t line = 0;
  /// How it is searched; nullptr: as the loop's other sentences without one.
  std::shared_ptr<const SearchPlan> search{};
  /// Which tokens may follow; nullptr: all of the vocabulary. Must outlive the sentence.
  const Shortlist* shortlist = nullptr;
};

/// A hypothesis under way.
struct LiveHypothesis {
  std::vector<std::int32_t> tokens{};
  std::vector<double> token_log_probabilities{};
  double log_probability = 0;
  /// If kept: rows of source length; one per token, and one for the token that comes next.
  std::vector<float> attention{};
  /// Which of the hypotheses that the sentence began with it descends from.
  std::int32_t origin = 0;
};

/// All that a search knows about one sentence. Strategies read it; the loop writes it.
struct SentenceState {
  const DecodingOptions* options = nullptr;
  const nn::SequenceSpec* spec = nullptr;
  Sentence sentence{};
  std::int32_t maximum_length = 0;

  /// In the order in which the strategy chose them.
  std::vector<LiveHypothesis> live{};
  /// Tokens (with the prefix) that each living hypothesis has: the same for all.
  std::int32_t length = 0;
  /// The best so far, sorted by better(), at most n_best.
  std::vector<Hypothesis> finished{};
  /// How many have ended or were cut in all.
  std::int32_t finished_count = 0;
  /// Where the stop rule is kOutscored: the scores of all of them, falling.
  std::vector<double> ended_scores{};
  /// Whether an ended hypothesis was the best candidate of its step.
  bool best_ended = false;
  /// A strategy's own memory.
  std::any memory{};
};

}  // namespace dragoman::decoding

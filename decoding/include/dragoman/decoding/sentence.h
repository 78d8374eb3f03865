#pragma once

#include <algorithm>
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

/// A sentence to translate.
struct Sentence {
  /// Chosen by the caller; returned with the result.
  std::uint64_t id = 0;
  /// Includes the closing end.
  std::vector<std::int32_t> source{};
  /// Every hypothesis starts with these tokens.
  std::vector<std::int32_t> target_prefix{};
  /// Every hypothesis must contain these; the prefix counts. Only for strategies that support constraints. If the
  /// maximum length or suppressed tokens make a constraint impossible, Hypothesis::unmet names it.
  std::vector<Constraint> constraints{};
  /// Word boundaries, so that only whole words meet constraints. nullptr: every token is a word.
  std::shared_ptr<const WordBoundaries> boundaries{};
  /// The key of random draws, with the seed: the samples of a sentence depend on these alone. Less than 2^48.
  std::uint64_t line = 0;
  /// The search of this sentence. nullptr: the default search of the loop.
  std::shared_ptr<const SearchPlan> search{};
  /// The tokens that may be chosen. nullptr: the whole vocabulary. Must outlive the sentence.
  const Shortlist* shortlist = nullptr;
};

/// An unfinished hypothesis.
struct LiveHypothesis {
  std::vector<std::int32_t> tokens{};
  std::vector<double> token_log_probabilities{};
  double log_probability = 0;
  /// If kept: rows of source length, one per token, and one for the next token.
  std::vector<float> attention{};
  /// The index of the initial hypothesis that this one descends from.
  std::int32_t origin = 0;
};

/// The state of the search of one sentence. Strategies read it; the loop writes it.
struct SentenceState {
  const DecodingOptions* options = nullptr;
  const nn::SequenceSpec* spec = nullptr;
  Sentence sentence{};
  std::int32_t maximum_length = 0;

  /// In the order in which the strategy chose them.
  std::vector<LiveHypothesis> live{};
  /// The number of tokens, including the prefix, of each living hypothesis. It is equal for all.
  std::int32_t length = 0;
  /// The best finished hypotheses so far, sorted by better(), at most n_best.
  std::vector<Hypothesis> finished{};
  /// The number of hypotheses that have ended or were cut.
  std::int32_t finished_count = 0;
  /// If the stop rule is kOutscored: the scores of all finished hypotheses, in descending order.
  std::vector<double> ended_scores{};
  /// Whether an ended hypothesis was the best candidate of its step.
  bool best_ended = false;
  /// Memory for the strategy's use.
  std::any memory{};

  /// Returns whether a token ends a hypothesis.
  bool is_end(std::int32_t token) const { return decoding::is_end(*options, *spec, token); }
};

}  // namespace dragoman::decoding

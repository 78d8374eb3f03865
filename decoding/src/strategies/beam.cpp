#include "built_in_strategies.h"
#include "constrained_beam.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dragoman::decoding {
namespace {

struct Choice {
  double total;  ///< log probability of the hypothesis including this token
  std::int32_t parent;
  std::int32_t rank;  ///< among the parent's candidates
};

/// A total order. Of equal sums, the better parent is first, then the more probable token, then the smaller id, because
/// candidates are sorted.
bool precedes(const Choice& a, const Choice& b) {
  if (a.total != b.total) return a.total > b.total;
  if (a.parent != b.parent) return a.parent < b.parent;
  return a.rank < b.rank;
}

/// Beam search with the ranking, pruning and stop rules of the length penalty's preset. All living hypotheses have the
/// same length, so they are pruned by their plain log probability.
class Beam final : public SearchStrategy {
 public:
  explicit Beam(const DecodingOptions& options)
      : beam_size_(options.beam_size),
        n_best_(options.n_best),
        rules_(options.length_penalty),
        constrained_(options),
        wanted_endings_(std::max(n_best_, static_cast<std::int32_t>(std::lround(beam_size_ * options.patience)))) {
    // CTranslate2 stops at the first end only if the length penalty cannot give a later hypothesis a higher score.
    if (rules_.stop == StopRule::kBestEnded && options.coverage_penalty != 0) rules_.stop = StopRule::kBeamFinished;
  }

  StepNeeds needs(std::int64_t vocabulary) const override {
    const std::int64_t wanted = rules_.ended_place == EndedPlace::kRefilled ? 2 * std::int64_t{beam_size_} : beam_size_;
    return {.candidates = std::min(wanted, vocabulary)};
  }

  std::int32_t maximum_live() const override { return beam_size_; }
  std::int32_t maximum_live_of(const Sentence& sentence) const override {
    return sentence.constraints.empty() ? beam_size_ : constrained_.maximum_live(sentence);
  }
  /// A beam of one would have to put constraints either before everything else or after it.
  bool takes_constraints() const override { return beam_size_ > 1; }
  void request_scores(const SentenceState& state, const LiveHypothesis& hypothesis,
                      std::vector<std::int32_t>& tokens) const override {
    if (!state.sentence.constraints.empty()) ConstraintProgress(state.sentence, hypothesis.tokens).append_next(tokens);
  }

  void advance(SentenceState& state, const Candidates& candidates, Advance& result) override {
    if (!state.sentence.constraints.empty()) return constrained_.advance(state, candidates, result);
    rank(state, candidates);
    const std::int32_t width = width_of(state);
    if (state.length == state.maximum_length)
      end_all(state, candidates, width, result);
    else
      take(state, candidates, width, result);
    if (result.continuations.empty() && result.endings.empty()) cut_all(state, result);
  }

  bool done(const SentenceState& state) override {
    if (!state.sentence.constraints.empty()) return constrained_.done(state);
    switch (rules_.stop) {
      case StopRule::kBeamFinished:
        return state.finished_count >= wanted_endings_;
      case StopRule::kBestEnded:
        return state.best_ended && state.finished_count >= n_best_;
      case StopRule::kBeamEmpty:
        return false;
      case StopRule::kOutscored:
        return state.finished_count >= wanted_endings_ && outscored(state);
      case StopRule::kBound:
        break;
    }
    if (static_cast<std::int32_t>(state.finished.size()) < n_best_) return false;
    const double best = best_living(state);
    return rules_.bound(best, state.length, state.maximum_length) <= state.finished.back().score;
  }

  std::int32_t next_rows(const SentenceState& state) const override {
    return state.sentence.constraints.empty() ? width_of(state) : 0;
  }

 private:
  std::int32_t width_of(const SentenceState& state) const {
    return rules_.ended_place == EndedPlace::kClosed ? std::max(beam_size_ - state.finished_count, 0) : beam_size_;
  }

  void rank(const SentenceState& state, const Candidates& candidates) {
    choices_.clear();
    for (std::int32_t parent = 0; parent < candidates.rows(); ++parent) {
      const double before = state.live[static_cast<std::size_t>(parent)].log_probability;
      for (std::int32_t k = 0; k < candidates.per_row; ++k) {
        const double log_probability = candidates.log_probability(parent, k);
        if (log_probability > -std::numeric_limits<double>::infinity())
          choices_.push_back({before + log_probability, parent, k});
      }
    }
    const std::size_t kept = std::min(choices_.size(), 2 * static_cast<std::size_t>(beam_size_));
    std::partial_sort(choices_.begin(), choices_.begin() + static_cast<std::ptrdiff_t>(kept), choices_.end(), precedes);
    choices_.resize(kept);
  }

  /// An ordinary step: ends among the first `width` choices end their hypotheses. The other choices survive, up to the
  /// size of the beam.
  void take(const SentenceState& state, const Candidates& candidates, std::int32_t width, Advance& result) const {
    const bool is_last = state.options->cut_at_maximum && state.length + 1 == state.maximum_length;
    const bool refill = rules_.ended_place == EndedPlace::kRefilled && !is_last;
    // CTranslate2 gives other ends of this step a hopeless place in the beam, which is left vacant here.
    const bool one_end = state.options->prefix_role == PrefixRole::kGiven && state.length > 0 &&
                         state.length == static_cast<std::int32_t>(state.sentence.target_prefix.size());
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(choices_.size()); ++i) {
      if (i >= width && !refill) break;
      const Choice& choice = choices_[static_cast<std::size_t>(i)];
      const std::int32_t token = candidates.token(choice.parent, choice.rank);
      const double log_probability = candidates.log_probability(choice.parent, choice.rank);
      if (!state.is_end(token))
        result.continuations.push_back({choice.parent, token, log_probability});
      else if (one_end && i > 0)
        --width;
      else if (i < width)
        result.endings.push_back({choice.parent, StoppedBy::kEnd, log_probability, i, token});
      if (static_cast<std::int32_t>(result.continuations.size()) >= width) break;
    }
  }

  /// The step at the maximum length: a hypothesis with an end among the first choices ends, the others are cut.
  void end_all(const SentenceState& state, const Candidates& candidates, std::int32_t width, Advance& result) {
    ended_.assign(state.live.size(), false);
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(choices_.size()) && i < width; ++i) {
      const Choice& choice = choices_[static_cast<std::size_t>(i)];
      const std::int32_t token = candidates.token(choice.parent, choice.rank);
      if (!state.is_end(token)) continue;
      ended_[static_cast<std::size_t>(choice.parent)] = true;
      result.endings.push_back(
          {choice.parent, StoppedBy::kEnd, candidates.log_probability(choice.parent, choice.rank), i, token});
    }
    for (std::size_t parent = 0; parent < state.live.size(); ++parent)
      if (!ended_[parent]) result.endings.push_back({static_cast<std::int32_t>(parent), StoppedBy::kLength, 0, 1});
  }

  /// Cuts all hypotheses because nothing can follow them.
  static void cut_all(const SentenceState& state, Advance& result) {
    for (std::size_t parent = 0; parent < state.live.size(); ++parent)
      result.endings.push_back({static_cast<std::int32_t>(parent), StoppedBy::kLength, 0, 1});
  }

  /// Hypotheses that ended in this step count, too: they may have been the best candidates before they ended.
  bool outscored(const SentenceState& state) const {
    const double best = choices_.empty() ? best_living(state) : choices_.front().total;
    const auto kept = static_cast<std::size_t>(wanted_endings_);
    return state.ended_scores.size() >= kept && state.ended_scores[kept - 1] >= rules_.score(best, state.length, false);
  }

  static double best_living(const SentenceState& state) {
    double best = -std::numeric_limits<double>::infinity();
    for (const LiveHypothesis& hypothesis : state.live) best = std::max(best, hypothesis.log_probability);
    return best;
  }

  std::int32_t beam_size_;
  std::int32_t n_best_;
  LengthPenalty rules_;
  ConstrainedBeam constrained_;
  std::int32_t wanted_endings_;
  std::vector<Choice> choices_;
  std::vector<bool> ended_;
};

}  // namespace

std::unique_ptr<SearchStrategy> make_beam(const DecodingOptions& options) {
  if (options.beam_groups > 1) return make_diverse_beam(options);
  return std::make_unique<Beam>(options);
}

}  // namespace dragoman::decoding

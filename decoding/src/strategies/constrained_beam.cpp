#include "constrained_beam.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dragoman::decoding {

ConstrainedBeam::ConstrainedBeam(const DecodingOptions& options)
    : beam_size_(options.beam_size),
      n_best_(options.n_best),
      rules_(options.length_penalty),
      wanted_endings_(std::max(n_best_, static_cast<std::int32_t>(std::lround(beam_size_ * options.patience)))) {}

std::int32_t ConstrainedBeam::maximum_live(const Sentence& sentence) const {
  const std::int32_t banks = ConstraintProgress(sentence, {}).total() + 1;
  return std::max(beam_size_, std::min(banks, kMaxBanks));
}

void ConstrainedBeam::advance(SentenceState& state, const Candidates& candidates, Advance& result) {
  read_parents(state);
  collect(state, candidates);
  if (state.length == state.maximum_length) return end_all(state, result);
  const std::int32_t places = std::max(beam_size_, banks_);
  const bool closes = rules_.ended_place == EndedPlace::kClosed;
  fill_banks(closes ? std::max(places - state.finished_count, 0) : places, result);
  if (result.continuations.empty() && result.endings.empty() && state.finished.empty()) end_all(state, result);
}

bool ConstrainedBeam::done(const SentenceState& state) const {
  // The best candidate may have been an end because constraints excluded the others, so kBestEnded is no reason to
  // stop.
  const bool counts = rules_.stop == StopRule::kBeamFinished || rules_.stop == StopRule::kBestEnded;
  if (counts && state.finished_count >= wanted_endings_) return true;
  if (static_cast<std::int32_t>(state.finished.size()) < n_best_) return false;
  double best = -std::numeric_limits<double>::infinity();
  for (const LiveHypothesis& hypothesis : state.live) best = std::max(best, hypothesis.log_probability);
  return rules_.bound(best, state.length, state.maximum_length) <= state.finished.back().score;
}

void ConstrainedBeam::read_parents(const SentenceState& state) {
  parents_.clear();
  for (const LiveHypothesis& hypothesis : state.live) {
    const ConstraintProgress progress(state.sentence, hypothesis.tokens);
    parents_.push_back({progress, state.length + progress.remaining() > state.maximum_length});
  }
  total_ = parents_.front().progress.total();
  banks_ = std::min(total_ + 1, kMaxBanks);
}

/// Collects all possible continuations and ends, best first.
void ConstrainedBeam::collect(const SentenceState& state, const Candidates& candidates) {
  choices_.clear();
  for (std::int32_t parent = 0; parent < candidates.rows(); ++parent)
    for (std::int32_t k = 0; k < candidates.per_row; ++k)
      offer(state, parent, candidates.token(parent, k), candidates.log_probability(parent, k));
  for (std::size_t i = 0; i < candidates.scored.size(); ++i) {
    const std::int32_t parent = candidates.scored[i].row - candidates.first_row;
    const std::int32_t token = candidates.scored[i].token;
    const auto known = candidates.tokens.subspan(static_cast<std::size_t>(parent * candidates.per_row),
                                                 static_cast<std::size_t>(candidates.per_row));
    if (std::ranges::find(known, token) == known.end())
      offer(state, parent, token, candidates.scored_log_probabilities[i]);
  }
  std::ranges::sort(choices_, [](const Choice& a, const Choice& b) {
    if (a.total != b.total) return a.total > b.total;
    return a.parent != b.parent ? a.parent < b.parent : a.token < b.token;
  });
}

void ConstrainedBeam::offer(const SentenceState& state, std::int32_t parent, std::int32_t token,
                            double log_probability) {
  if (!(log_probability > -std::numeric_limits<double>::infinity())) return;
  const auto& [progress, hopeless] = parents_[static_cast<std::size_t>(parent)];
  const bool ends = state.is_end(token);
  if (ends && progress.remaining() > 0 && !hopeless) return;
  if (!ends && state.length == state.maximum_length) return;
  const std::int32_t remaining = ends ? progress.remaining() : progress.remaining_after(token);
  if (!ends && !hopeless && state.length + 1 + remaining > state.maximum_length) return;
  choices_.push_back({state.live[static_cast<std::size_t>(parent)].log_probability + log_probability, parent, token,
                      log_probability, bank_of(remaining), ends});
}

std::int32_t ConstrainedBeam::bank_of(std::int32_t remaining) const {
  return static_cast<std::int32_t>(std::int64_t{total_ - remaining} * banks_ / (total_ + 1));
}

void ConstrainedBeam::fill_banks(std::int32_t width, Advance& result) {
  const std::int32_t share = width / banks_;
  std::int32_t used = 0;
  for (std::int32_t bank = banks_ - 1; bank >= 0; --bank) {
    const std::int32_t rest = bank == banks_ - 1 ? width - share * banks_ : 0;
    used += take(
        share + rest, [bank](const Choice& choice) { return choice.bank == bank; }, result);
  }
  take(
      width - used, [](const Choice&) { return true; }, result);
  // In order, so that among equal choices the better parent is first in the next step, too.
  result.continuations.clear();
  for (const Choice& choice : choices_)
    if (choice.taken && !choice.ends)
      result.continuations.push_back({choice.parent, choice.token, choice.log_probability});
}

/// Takes the best choices for which `in` is true, and returns the number of places that they fill. An end counts if it
/// is among the first `places`.
template <class IsIn>
std::int32_t ConstrainedBeam::take(std::int32_t places, const IsIn& in, Advance& result) {
  const bool refill = rules_.ended_place == EndedPlace::kRefilled;
  std::int32_t filled = 0;
  std::int32_t seen = 0;
  for (Choice& choice : choices_) {
    if (filled == places || (!refill && seen == places)) break;
    if (choice.taken || !in(choice)) continue;
    ++seen;
    if (choice.ends && seen > places) continue;
    choice.taken = true;
    if (choice.ends)
      result.endings.push_back({choice.parent, StoppedBy::kEnd, choice.log_probability, 1, choice.token});
    filled += choice.ends && refill ? 0 : 1;
  }
  return filled;
}

/// Ends hypotheses at the maximum length, or when nothing can follow. A hypothesis with unmet constraints is a result
/// only if there is no other.
void ConstrainedBeam::end_all(const SentenceState& state, Advance& result) const {
  const bool any_met = std::ranges::any_of(parents_, [](const Parent& p) { return p.progress.remaining() == 0; });
  for (std::size_t i = 0; i < parents_.size(); ++i) {
    if (parents_[i].progress.remaining() > 0 && (any_met || !state.finished.empty())) continue;
    const auto parent = static_cast<std::int32_t>(i);
    const auto end = std::ranges::find_if(
        choices_, [parent](const Choice& choice) { return choice.ends && choice.parent == parent; });
    if (end == choices_.end())
      result.endings.push_back({parent, StoppedBy::kLength, 0, 1});
    else
      result.endings.push_back({parent, StoppedBy::kEnd, end->log_probability, 1, end->token});
  }
}

}  // namespace dragoman::decoding

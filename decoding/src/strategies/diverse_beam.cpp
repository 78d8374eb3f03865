#include "built_in_strategies.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace dragoman::decoding {
namespace {

/// Counts how often previous groups have chosen a token in a step.
class ChosenTokens {
 public:
  void clear() { counts_.clear(); }
  void add(std::int32_t token) {
    const auto found = std::ranges::find(counts_, token, &Count::first);
    if (found == counts_.end())
      counts_.emplace_back(token, 1);
    else
      ++found->second;
  }
  double count(std::int32_t token) const {
    const auto found = std::ranges::find(counts_, token, &Count::first);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  using Count = std::pair<std::int32_t, int>;
  std::vector<Count> counts_;
};

/// Beam search in groups: see DecodingOptions::beam_groups. A group consists of the descendants of one of the
/// sentence's initial hypotheses. It stops independently, by the rules of the length penalty's preset, with its own
/// share of the beam and of n_best.
class DiverseBeam final : public SearchStrategy {
 public:
  explicit DiverseBeam(const DecodingOptions& options)
      : groups_(options.beam_groups),
        size_(options.beam_size / options.beam_groups),
        share_((options.n_best + groups_ - 1) / groups_),
        strength_(options.diversity_strength),
        rules_(options.length_penalty),
        wanted_endings_(std::max(share_, static_cast<std::int32_t>(std::lround(size_ * options.patience)))) {}

  StepNeeds needs(std::int64_t vocabulary) const override {
    // The candidates of a beam, and the tokens that earlier groups may have penalised.
    const std::int64_t own = rules_.ended_place == EndedPlace::kRefilled ? 2 * std::int64_t{size_} : size_;
    return {.candidates = std::min(own + (groups_ - 1) * own, vocabulary)};
  }
  std::int32_t starts() const override { return groups_; }
  std::int32_t maximum_live() const override { return groups_ * size_; }
  std::int32_t results_per_start() const override { return share_; }

  void advance(SentenceState& state, const Candidates& candidates, Advance& result) override {
    if (!state.memory.has_value()) state.memory = Endings(static_cast<std::size_t>(groups_), 0);
    chosen_.clear();
    for (std::int32_t group = 0; group < groups_; ++group) advance_group(state, candidates, group, result);
  }

  bool done(const SentenceState& state) override {
    for (std::int32_t group = 0; group < groups_; ++group)
      if (has_living(state, group) && !group_done(state, group)) return false;
    return true;
  }

 private:
  /// One entry per group.
  using Endings = std::vector<std::int32_t>;

  struct Choice {
    double rank;
    std::int32_t parent;
    std::int32_t token;
    double log_probability;
  };

  static bool has_living(const SentenceState& state, std::int32_t group) {
    return std::ranges::find(state.live, group, &LiveHypothesis::origin) != state.live.end();
  }

  bool group_done(const SentenceState& state, std::int32_t group) const {
    const std::int32_t ended = std::any_cast<const Endings&>(state.memory)[static_cast<std::size_t>(group)];
    if (rules_.stop == StopRule::kBeamEmpty) return false;
    if (rules_.stop != StopRule::kBound) return ended >= wanted_endings_;
    std::int32_t kept = 0;
    double worst = std::numeric_limits<double>::infinity();
    for (const Hypothesis& hypothesis : state.finished)
      if (hypothesis.origin == group) {
        ++kept;
        worst = hypothesis.score;
      }
    double best = -std::numeric_limits<double>::infinity();
    for (const LiveHypothesis& hypothesis : state.live)
      if (hypothesis.origin == group) best = std::max(best, hypothesis.log_probability);
    return kept >= share_ && rules_.bound(best, state.length, state.maximum_length) <= worst;
  }

  void advance_group(SentenceState& state, const Candidates& candidates, std::int32_t group, Advance& result) {
    if (!has_living(state, group) || group_done(state, group)) return;
    auto& ended = std::any_cast<Endings&>(state.memory)[static_cast<std::size_t>(group)];
    const std::int32_t width = rules_.ended_place == EndedPlace::kClosed ? std::max(size_ - ended, 0) : size_;
    rank(state, candidates, group);
    const std::size_t endings_before = result.endings.size();
    const std::size_t continuations_before = result.continuations.size();
    if (state.length < state.maximum_length) take(state, width, result);
    const bool stuck = result.endings.size() == endings_before && result.continuations.size() == continuations_before;
    if (state.length == state.maximum_length || (stuck && width > 0)) end_all(state, group, width, result);
    ended += static_cast<std::int32_t>(result.endings.size() - endings_before);
    drop_repeated(state, endings_before, result);
  }

  void rank(const SentenceState& state, const Candidates& candidates, std::int32_t group) {
    choices_.clear();
    for (std::int32_t parent = 0; parent < candidates.rows(); ++parent) {
      const LiveHypothesis& hypothesis = state.live[static_cast<std::size_t>(parent)];
      if (hypothesis.origin != group) continue;
      for (std::int64_t k = 0; k < candidates.per_row; ++k) {
        const std::int32_t token = candidates.token(parent, k);
        const double log_probability = candidates.log_probability(parent, k);
        if (!(log_probability > -std::numeric_limits<double>::infinity())) continue;
        const double rank = hypothesis.log_probability + log_probability - strength_ * chosen_.count(token);
        choices_.push_back({rank, parent, token, log_probability});
      }
    }
    const std::size_t kept = std::min(choices_.size(), 2 * static_cast<std::size_t>(size_));
    std::partial_sort(choices_.begin(), choices_.begin() + static_cast<std::ptrdiff_t>(kept), choices_.end(),
                      [](const Choice& a, const Choice& b) {
                        if (a.rank != b.rank) return a.rank > b.rank;
                        return a.parent != b.parent ? a.parent < b.parent : a.token < b.token;
                      });
    choices_.resize(kept);
  }

  /// As in beam search: ends among the first `width` choices end; the others survive if there is room.
  void take(const SentenceState& state, std::int32_t width, Advance& result) {
    const bool refill = rules_.ended_place == EndedPlace::kRefilled;
    std::int32_t living = 0;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(choices_.size()) && living < width; ++i) {
      if (i >= width && !refill) break;
      const Choice& choice = choices_[static_cast<std::size_t>(i)];
      const bool ends = state.is_end(choice.token);
      if (ends && i >= width) continue;
      if (ends)
        result.endings.push_back({choice.parent, StoppedBy::kEnd, choice.log_probability, 1, choice.token});
      else
        result.continuations.push_back({choice.parent, choice.token, choice.log_probability});
      living += ends ? 0 : 1;
      chosen_.add(choice.token);
    }
  }

  void end_all(const SentenceState& state, std::int32_t group, std::int32_t width, Advance& result) const {
    const auto first = choices_.begin();
    const auto last = first + std::min<std::ptrdiff_t>(width, std::ssize(choices_));
    for (std::int32_t parent = 0; parent < static_cast<std::int32_t>(state.live.size()); ++parent) {
      if (state.live[static_cast<std::size_t>(parent)].origin != group) continue;
      const auto end = std::find_if(
          first, last, [&](const Choice& choice) { return choice.parent == parent && state.is_end(choice.token); });
      if (end == last)
        result.endings.push_back({parent, StoppedBy::kLength, 0, 1});
      else
        result.endings.push_back({parent, StoppedBy::kEnd, end->log_probability, 1, end->token});
    }
  }

  /// Removes endings from index `before` on whose translation an earlier group has returned.
  static void drop_repeated(const SentenceState& state, std::size_t before, Advance& result) {
    const auto tokens_of = [&](const Advance::Ending& ending) -> const std::vector<std::int32_t>& {
      return state.live[static_cast<std::size_t>(ending.parent)].tokens;
    };
    for (std::size_t i = result.endings.size(); i-- > before;) {
      const auto& tokens = tokens_of(result.endings[i]);
      const auto earlier = result.endings.begin() + static_cast<std::ptrdiff_t>(before);
      if (std::ranges::find(state.finished, tokens, &Hypothesis::tokens) != state.finished.end() ||
          std::any_of(result.endings.begin(), earlier, [&](const auto& other) { return tokens_of(other) == tokens; }))
        result.endings.erase(result.endings.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  std::int32_t groups_;
  std::int32_t size_;   ///< beam size of a group
  std::int32_t share_;  ///< n_best of a group
  double strength_;
  LengthPenalty rules_;
  std::int32_t wanted_endings_;
  std::vector<Choice> choices_;
  ChosenTokens chosen_;
};

}  // namespace

std::unique_ptr<SearchStrategy> make_diverse_beam(const DecodingOptions& options) {
  return std::make_unique<DiverseBeam>(options);
}

}  // namespace dragoman::decoding

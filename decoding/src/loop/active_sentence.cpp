#include "active_sentence.h"

#include "dragoman/decoding/shortlist.h"
#include "strategies/constraint_progress.h"

#include <algorithm>
#include <cmath>

namespace dragoman::decoding {
namespace {

/// Copies into the existing memory of `to`: after all lengths have occurred, copies do not allocate.
void copy(const LiveHypothesis& from, LiveHypothesis& to) {
  to.tokens.assign(from.tokens.begin(), from.tokens.end());
  to.token_log_probabilities.assign(from.token_log_probabilities.begin(), from.token_log_probabilities.end());
  to.attention.assign(from.attention.begin(), from.attention.end());
  to.log_probability = from.log_probability;
  to.origin = from.origin;
}

/// Tokens of constraints, and tokens that end the search, may be chosen even if they are not on the sentence's
/// shortlist.
void add_needed(const Sentence& sentence, const DecodingOptions& options, std::vector<std::int32_t>& shortlist) {
  if (options.ends.empty() && sentence.constraints.empty()) return;
  shortlist.insert(shortlist.end(), options.ends.begin(), options.ends.end());
  for (const Constraint& constraint : sentence.constraints)
    for (const Constraint::Form& form : constraint.forms)
      shortlist.insert(shortlist.end(), form.tokens.begin(), form.tokens.end());
  std::ranges::sort(shortlist);
  shortlist.erase(std::unique(shortlist.begin(), shortlist.end()), shortlist.end());
}

std::vector<std::int32_t> unmet_constraints(const Sentence& sentence, const std::vector<std::int32_t>& tokens) {
  const ConstraintProgress progress(sentence, tokens);
  std::vector<std::int32_t> unmet;
  for (std::size_t c = 0; c < sentence.constraints.size(); ++c)
    if (!progress.met(c)) unmet.push_back(static_cast<std::int32_t>(c));
  return unmet;
}

}  // namespace

void ActiveSentence::begin(const nn::SequenceSpec& spec) {
  const Sentence& sentence = state.sentence;
  const DecodingOptions& options = searcher->options();
  const std::int32_t starts = searcher->strategy->starts();
  const auto prefix = static_cast<std::int32_t>(sentence.target_prefix.size());
  state.options = &options;
  state.spec = &spec;
  state.maximum_length =
      std::max(maximum_target_length(options, spec, static_cast<std::int32_t>(sentence.source.size()) - 1), prefix);
  state.length = prefix;
  state.finished.clear();
  state.finished_count = 0;
  state.ended_scores.clear();
  state.best_ended = false;
  state.memory.reset();
  shortlist.clear();
  if (sentence.shortlist != nullptr) {
    sentence.shortlist->candidates(sentence.source, shortlist);
    add_needed(sentence, options, shortlist);
  }
  state.live.resize(static_cast<std::size_t>(starts));
  for (std::int32_t i = 0; i < starts; ++i) {
    LiveHypothesis& hypothesis = state.live[static_cast<std::size_t>(i)];
    hypothesis.tokens.assign(sentence.target_prefix.begin(), sentence.target_prefix.end());
    hypothesis.token_log_probabilities.clear();
    hypothesis.attention.clear();
    hypothesis.log_probability = 0;
    hypothesis.origin = i;
  }
  awaited_row = next_row = -1;
  fresh_ = true;
}

void ActiveSentence::record(const StepResult& result, std::int32_t first_row, std::int64_t first_token,
                            std::int64_t tokens_per_row) {
  first_row_ = first_row;
  const bool keeps_attention = needs_alignment(*state.options) && !result.alignments.empty();
  for (LiveHypothesis& hypothesis : state.live) {
    for (std::int64_t i = 0; i < tokens_per_row; ++i) {
      const auto token = static_cast<std::size_t>(first_token + i);
      if (i > 0) {
        const bool given = i <= state.options->given_tokens || state.options->prefix_role != PrefixRole::kScored;
        const double forced = given ? 0 : result.forced_log_probabilities[token];
        hypothesis.token_log_probabilities.push_back(forced);
        hypothesis.log_probability += forced;
      }
      if (keeps_attention)
        hypothesis.attention.insert(hypothesis.attention.end(), result.alignments[token].begin(),
                                    result.alignments[token].end());
    }
    first_token += tokens_per_row;
  }
  fresh_ = false;
}

void ActiveSentence::apply(const Advance& advance) {
  for (const Advance::Ending& ending : advance.endings) finish(ending);
  const std::size_t count = advance.continuations.size();
  if (next_.size() < count) next_.resize(count);
  parents_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Advance::Continuation& continuation = advance.continuations[i];
    LiveHypothesis& hypothesis = next_[i];
    copy(state.live[static_cast<std::size_t>(continuation.parent)], hypothesis);
    hypothesis.tokens.push_back(continuation.token);
    hypothesis.token_log_probabilities.push_back(continuation.log_probability);
    hypothesis.log_probability += continuation.log_probability;
    parents_[i] = continuation.parent;
  }
  std::swap(state.live, next_);
  state.live.resize(count);
  ++state.length;
}

void ActiveSentence::give_up() {
  state.finished.clear();
  finish({.parent = 0, .stopped_by = StoppedBy::kNotFinite, .log_probability = 0, .rank = 1});
  state.live.clear();
}

void ActiveSentence::fail(std::exception_ptr error) {
  failure = std::move(error);
  state.live.clear();
}

void ActiveSentence::retire() {
  state.sentence.search.reset();
  state.sentence.constraints.clear();
  state.sentence.boundaries.reset();
  state.memory.reset();
  state.finished.clear();
  failure = nullptr;
  searcher = nullptr;
}

void ActiveSentence::finish(const Advance::Ending& ending) {
  const LiveHypothesis& live = state.live[static_cast<std::size_t>(ending.parent)];
  const bool ended = ending.stopped_by == StoppedBy::kEnd;
  Hypothesis hypothesis;
  hypothesis.tokens = live.tokens;
  hypothesis.token_log_probabilities = live.token_log_probabilities;
  hypothesis.log_probability = live.log_probability;
  const bool gets_token = !ended && ending.token >= 0;
  if (gets_token) hypothesis.tokens.push_back(ending.token);
  if (ended || gets_token) {
    hypothesis.token_log_probabilities.push_back(ending.log_probability);
    hypothesis.log_probability += ending.log_probability;
  }
  if (ended) hypothesis.end = ending.token >= 0 ? ending.token : state.spec->end;
  hypothesis.stopped_by = ending.stopped_by;
  hypothesis.steps = state.length;
  hypothesis.origin = live.origin;
  if (!state.sentence.constraints.empty()) hypothesis.unmet = unmet_constraints(state.sentence, hypothesis.tokens);
  const std::size_t width = state.sentence.source.size();
  const std::size_t rows = live.attention.empty() ? 0 : hypothesis.token_log_probabilities.size();
  for (std::size_t row = 0; row < rows; ++row) {
    const auto begin = live.attention.begin() + static_cast<std::ptrdiff_t>(row * width);
    hypothesis.alignment.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  std::size_t length = hypothesis.tokens.size();
  if (state.options->prefix_role == PrefixRole::kContext) length -= state.sentence.target_prefix.size();
  hypothesis.score =
      state.options->length_penalty.score(hypothesis.log_probability, static_cast<std::int64_t>(length), ended) +
      coverage(hypothesis);
  ++state.finished_count;
  if (std::vector<double>& scores = state.ended_scores; state.options->length_penalty.stop == StopRule::kOutscored)
    scores.insert(std::upper_bound(scores.begin(), scores.end(), hypothesis.score, std::greater<>()), hypothesis.score);
  state.best_ended = state.best_ended || (ended && ending.rank == 0);
  const auto place = std::upper_bound(state.finished.begin(), state.finished.end(), hypothesis, better);
  state.finished.insert(place, std::move(hypothesis));
  drop_surplus(searcher->strategy->results_per_start());
}

/// Drops the worst result of the last result's origin if that origin has too many, else the worst of all results if
/// there are too many.
void ActiveSentence::drop_surplus(std::int32_t per_start) {
  std::vector<Hypothesis>& finished = state.finished;
  if (per_start > 0)
    for (std::size_t last = finished.size(); last-- > 0;) {
      const std::int32_t origin = finished[last].origin;
      if (std::ranges::count(finished, origin, &Hypothesis::origin) <= per_start) continue;
      finished.erase(finished.begin() + static_cast<std::ptrdiff_t>(last));
      return;
    }
  if (static_cast<std::int32_t>(finished.size()) > state.options->n_best) finished.pop_back();
}

double ActiveSentence::coverage(const Hypothesis& hypothesis) const {
  if (state.options->coverage_penalty == 0) return 0;
  constexpr double kFloor = 1e-9;
  double sum = 0;
  for (std::size_t j = 0; j < state.sentence.source.size(); ++j) {
    double covered = 0;
    for (const auto& weights : hypothesis.alignment) covered += static_cast<double>(weights[j]);
    sum += std::log(std::clamp(covered, kFloor, 1.0));
  }
  return state.options->coverage_penalty * sum;
}

}  // namespace dragoman::decoding

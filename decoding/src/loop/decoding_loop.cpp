#include "dragoman/decoding/decoding_loop.h"

#include "sentence_pool.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include <dragoman/core/error.h>

namespace dragoman::decoding {

using core::ErrorCode;

SentenceSource::~SentenceSource() = default;
HypothesisSink::~HypothesisSink() = default;

void HypothesisSink::fail(std::uint64_t, std::exception_ptr error) {
  std::rethrow_exception(std::move(error));
}

std::size_t stable_prefix_length(const SentenceState& sentence) {
  if (sentence.live.empty()) return 0;
  std::span<const std::int32_t> decided = sentence.live.front().tokens;
  const auto agree = [&](const std::vector<std::int32_t>& tokens) {
    const auto end = std::ranges::mismatch(decided, tokens).in1;
    decided = decided.first(static_cast<std::size_t>(end - decided.begin()));
  };
  for (std::size_t i = 1; i < sentence.live.size(); ++i) agree(sentence.live[i].tokens);
  if (!sentence.finished.empty()) agree(sentence.finished.front().tokens);
  return decided.size();
}

namespace {

/// Ends all continuations with their tokens.
void cut_continuations(Advance& advance) {
  for (const Advance::Continuation& next : advance.continuations)
    advance.endings.push_back({next.parent, StoppedBy::kLength, next.log_probability, 1, next.token});
  advance.continuations.clear();
}

/// Whether the device can choose the continuation of this sentence, and the candidates are all that its step returns.
bool can_run_ahead(const ActiveSentence& sentence) {
  const Searcher& searcher = *sentence.searcher;
  const bool forced = sentence.fresh() && !sentence.state.sentence.target_prefix.empty();
  return !forced && searcher.processors.empty() && searcher.options().ends.empty() && !searcher.needs.noise &&
         searcher.needs.temperature == 1 && !needs_alignment(searcher.options()) &&
         searcher.strategy->next_rows(sentence.state) > 0;
}

}  // namespace

struct DecodingLoop::Impl {
  using Active = SentencePool::Active;
  /// The rows of a sentence in a step. Negative: it has none.
  struct Place {
    std::int32_t first_row = -1;
    std::int64_t first_token = 0;
  };

  StepModel& model;
  LoopStatistics statistics;
  SentencePool pool;

  std::vector<nn::RowRef> rows;
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> offsets;
  std::vector<ops::LogitEdit> edits;
  std::vector<ops::ScoredToken> scored_tokens;
  std::vector<std::int32_t> scored_of_row;
  std::vector<ops::RowNoise> noise;
  std::vector<double> temperatures;
  std::vector<std::int32_t> shortlist;
  std::vector<ops::ShortlistRange> shortlist_of_row;
  std::vector<ops::NextRows> chosen;
  std::vector<double> log_probabilities;
  std::int64_t candidates_per_row = 1;
  bool any_alignment = false;
  std::vector<RowEdits> row_edits;  ///< of the hypotheses of one sentence
  StepResult result;
  std::vector<std::int32_t> first_tokens;
  std::vector<double> first_log_probabilities;
  Advance advance;
  std::vector<const SentenceState*> stepped;

  /// The step that was begun, its rows and candidates. The next step is begun before the result of this one is read.
  std::unique_ptr<PendingStep> awaited;
  std::size_t awaited_rows = 0;
  std::int64_t awaited_candidates = 1;

  Impl(StepModel& step_model, SharedSearch usual, const LoopLimits& limits)
      : model(step_model), pool(step_model, std::move(usual), limits, statistics) {}

  bool run(SentenceSource& source, HypothesisSink& sink, const std::stop_token& stop);
  void step(HypothesisSink& sink);
  void compose();
  StepRequest request() const;
  void run_ahead(HypothesisSink& sink);
  void finish_awaited(HypothesisSink& sink);
  void end_step(HypothesisSink& sink, std::int64_t per_row, const auto& place_of);
  void add_chosen_rows(ActiveSentence& sentence);
  void add_rows(const ActiveSentence& sentence, bool any_noise);
  void apply_processors(ActiveSentence& sentence);
  void add_wanted(std::size_t row, const SearchStrategy& strategy, const SentenceState& state,
                  const LiveHypothesis& hypothesis);
  void give_wanted(std::int32_t first_row, std::size_t live, Candidates& found) const;
  void add_allowed(const ActiveSentence& sentence);
  void advance_sentence(ActiveSentence& sentence, const Place& place, std::size_t per_row);
  Candidates first_of(std::span<const std::int32_t> all_tokens, std::span<const double> all_log_probabilities,
                      std::size_t per_row, std::size_t scored);
  bool finite(const Candidates& candidates, std::int32_t first_row) const;
  void check_advance(const ActiveSentence& sentence) const;
};

bool DecodingLoop::Impl::run(SentenceSource& source, HypothesisSink& sink, const std::stop_token& stop) {
  pool.open();
  while (true) {
    if (stop.stop_requested()) return false;
    pool.drop_stopped(source, sink);
    if (pool.active().empty()) awaited.reset();  // the awaited step has ended sentences only
    pool.admit(source, sink);
    if (pool.done()) return true;
    if (pool.active().empty()) continue;
    step(sink);
    pool.deliver(sink);
  }
}

void DecodingLoop::Impl::step(HypothesisSink& sink) {
  if (model.runs_ahead() && std::ranges::all_of(pool.active(), [](const Active& s) { return can_run_ahead(*s); }))
    return run_ahead(sink);
  if (awaited != nullptr) return finish_awaited(sink);
  compose();
  if (rows.empty()) return;
  model.step(request(), result);
  core::require(scored_tokens.empty() || result.scored_log_probabilities.size() == scored_tokens.size(),
                ErrorCode::kUnsupported,
                "decoding: this model tells the log probabilities of the best tokens only, and constraints need more");
  std::int32_t next_row = 0;
  end_step(sink, candidates_per_row, [&](const ActiveSentence& sentence) {
    const std::int32_t row = std::exchange(next_row, next_row + static_cast<std::int32_t>(sentence.state.live.size()));
    return Place{row, offsets[static_cast<std::size_t>(row)]};
  });
}

/// Composes one step for all sentences. Their requirements differ, so the step has the maximum of each requirement.
void DecodingLoop::Impl::compose() {
  rows.clear();
  tokens.clear();
  offsets.assign(1, 0);
  edits.clear();
  scored_tokens.clear();
  noise.clear();
  temperatures.clear();
  shortlist.clear();
  shortlist_of_row.clear();
  chosen.clear();
  candidates_per_row = 1;
  bool any_noise = false, any_temperature = false, any_shortlist = false;
  any_alignment = false;
  for (const Active& sentence : pool.active()) {
    const StepNeeds& needs = sentence->searcher->needs;
    candidates_per_row = std::max(candidates_per_row, needs.candidates);
    any_noise = any_noise || needs.noise;
    any_temperature = any_temperature || needs.temperature != 1;
    any_alignment = any_alignment || needs_alignment(sentence->searcher->options());
    any_shortlist = any_shortlist || !sentence->shortlist.empty();
  }
  for (const Active& sentence : pool.active()) {
    if (sentence->awaited_row >= 0) {
      add_chosen_rows(*sentence);
    } else {
      apply_processors(*sentence);
      sentence->next_row = static_cast<std::int32_t>(rows.size());
      sentence->next_rows = static_cast<std::int32_t>(sentence->state.live.size());
      add_rows(*sentence, any_noise);
    }
    if (any_shortlist) add_allowed(*sentence);
    if (any_temperature) temperatures.resize(rows.size(), sentence->searcher->needs.temperature);
  }
}

StepRequest DecodingLoop::Impl::request() const {
  return {.rows = rows,
          .next = {tokens, offsets},
          .candidates = candidates_per_row,
          .temperatures = temperatures,
          .edits = edits,
          .noise = noise,
          .scored = scored_tokens,
          .shortlist = shortlist,
          .shortlist_of_row = shortlist_of_row,
          .alignment = any_alignment,
          .chosen = chosen,
          .log_probabilities = log_probabilities};
}

/// Begins the next step with the device's choice, and reads the result of the last step only then. A sentence that
/// turns out to have ended takes part in one redundant step. Rows beyond those that its search keeps are ignored.
void DecodingLoop::Impl::run_ahead(HypothesisSink& sink) {
  log_probabilities.assign(awaited_rows, 0);
  compose();
  std::unique_ptr<PendingStep> next = rows.empty() ? nullptr : model.begin(request());
  if (awaited != nullptr) finish_awaited(sink);
  awaited = std::move(next);
  awaited_rows = rows.size();
  awaited_candidates = candidates_per_row;
  for (const Active& sentence : pool.active()) {
    sentence->awaited_row = std::exchange(sentence->next_row, -1);
    if (sentence->awaited_row >= 0 && static_cast<std::int32_t>(sentence->state.live.size()) > sentence->next_rows)
      sentence->fail(std::make_exception_ptr(
          core::Error(ErrorCode::kInternal, "the search strategy goes on with more hypotheses than it said")));
  }
}

void DecodingLoop::Impl::finish_awaited(HypothesisSink& sink) {
  awaited->finish(result);
  awaited.reset();
  end_step(sink, awaited_candidates, [](ActiveSentence& sentence) {
    const std::int32_t row = std::exchange(sentence.awaited_row, -1);
    return Place{row, row};
  });
}

/// Passes the result of a step to its sentences; `place_of` returns the rows of a sentence.
void DecodingLoop::Impl::end_step(HypothesisSink& sink, std::int64_t per_row, const auto& place_of) {
  ++statistics.steps;
  stepped.clear();
  for (const Active& sentence : pool.active()) {
    const Place place = place_of(*sentence);
    const std::size_t live = sentence->state.live.size();
    if (live == 0 || place.first_row < 0) continue;
    statistics.rows += live;
    stepped.push_back(&sentence->state);
    try {
      advance_sentence(*sentence, place, static_cast<std::size_t>(per_row));
    } catch (...) {
      sentence->fail(std::current_exception());
    }
  }
  sink.stepped(stepped);
}

/// Adds rows for which the device determines the tokens and parents.
void DecodingLoop::Impl::add_chosen_rows(ActiveSentence& sentence) {
  const SentenceState& state = sentence.state;
  sentence.next_row = -1;
  if (state.length == state.maximum_length) return;  // it ends in the step that is awaited
  const auto live = static_cast<std::int32_t>(state.live.size());
  const auto scored = static_cast<std::int32_t>(sentence.searcher->needs.candidates);
  sentence.next_row = static_cast<std::int32_t>(rows.size());
  sentence.next_rows = std::min(sentence.searcher->strategy->next_rows(state), live * scored);
  chosen.push_back({.first_row = sentence.awaited_row,
                    .rows = live,
                    .candidates = scored,
                    .first_next = sentence.next_row,
                    .next = sentence.next_rows});
  for (std::int32_t i = 0; i < live; ++i)
    log_probabilities[static_cast<std::size_t>(sentence.awaited_row + i)] =
        state.live[static_cast<std::size_t>(i)].log_probability;
  for (std::int32_t i = 0; i < sentence.next_rows; ++i) {
    rows.push_back({sentence.slot, sentence.awaited_row});
    tokens.push_back(state.spec->end);
    offsets.push_back(static_cast<std::int32_t>(tokens.size()));
  }
}

/// Applies processors for the rows that the sentence gets next.
void DecodingLoop::Impl::apply_processors(ActiveSentence& sentence) {
  const SentenceState& state = sentence.state;
  const std::size_t edits_before = edits.size();
  const std::size_t scored_before = scored_tokens.size();
  try {
    if (row_edits.size() < state.live.size()) row_edits.resize(state.live.size());
    const std::span all = std::span(row_edits).first(state.live.size());
    for (const auto& processor : sentence.searcher->processors) processor->apply_all(state, all);
    for (std::size_t i = 0; i < state.live.size(); ++i) {
      all[i].check(state.spec->target_vocabulary);
      all[i].move_to(static_cast<std::int32_t>(rows.size() + i), edits);
      add_wanted(rows.size() + i, *sentence.searcher->strategy, state, state.live[i]);
    }
  } catch (...) {
    for (RowEdits& each : row_edits) each.clear();
    edits.resize(edits_before);
    scored_tokens.resize(scored_before);
    sentence.fail(std::current_exception());
  }
}

void DecodingLoop::Impl::add_wanted(std::size_t row, const SearchStrategy& strategy, const SentenceState& state,
                                    const LiveHypothesis& hypothesis) {
  scored_of_row.clear();
  strategy.request_scores(state, hypothesis, scored_of_row);
  std::ranges::sort(scored_of_row);
  scored_of_row.erase(std::unique(scored_of_row.begin(), scored_of_row.end()), scored_of_row.end());
  for (const std::int32_t token : scored_of_row) {
    core::require(token >= 0 && token < state.spec->target_vocabulary, ErrorCode::kInternal,
                  "the search strategy wants the token {}, and there are {}", token, state.spec->target_vocabulary);
    scored_tokens.push_back({static_cast<std::int32_t>(row), token});
  }
}

void DecodingLoop::Impl::give_wanted(std::int32_t first_row, std::size_t live, Candidates& found) const {
  found.first_row = first_row;
  const auto first = std::ranges::lower_bound(scored_tokens, first_row, {}, &ops::ScoredToken::row);
  const auto last = std::ranges::lower_bound(first, scored_tokens.end(), first_row + static_cast<std::int32_t>(live),
                                             {}, &ops::ScoredToken::row);
  const auto begin = static_cast<std::size_t>(first - scored_tokens.begin());
  const auto count = static_cast<std::size_t>(last - first);
  found.scored = std::span(scored_tokens).subspan(begin, count);
  found.scored_log_probabilities = std::span(result.scored_log_probabilities).subspan(count == 0 ? 0 : begin, count);
}

void DecodingLoop::Impl::add_rows(const ActiveSentence& sentence, bool any_noise) {
  const SentenceState& state = sentence.state;
  for (std::size_t i = 0; i < state.live.size(); ++i) {
    const LiveHypothesis& hypothesis = state.live[i];
    rows.push_back({sentence.slot, sentence.parent_row(i)});
    if (sentence.fresh()) {
      tokens.push_back(state.spec->decoder_start);
      tokens.insert(tokens.end(), hypothesis.tokens.begin(), hypothesis.tokens.end());
    } else {
      tokens.push_back(hypothesis.tokens.back());
    }
    offsets.push_back(static_cast<std::int32_t>(tokens.size()));
    if (any_noise)
      noise.push_back({.seed = state.options->sampling.seed,
                       .stream = random_stream(state, hypothesis),
                       .step = static_cast<std::uint64_t>(state.length),
                       .drawn = sentence.searcher->needs.noise});
  }
}

/// Adds the shortlist of the rows that the sentence got last.
void DecodingLoop::Impl::add_allowed(const ActiveSentence& sentence) {
  const auto begin = static_cast<std::int32_t>(shortlist.size());
  shortlist.insert(shortlist.end(), sentence.shortlist.begin(), sentence.shortlist.end());
  shortlist_of_row.resize(rows.size(), {.begin = begin, .end = static_cast<std::int32_t>(shortlist.size())});
}

void DecodingLoop::Impl::advance_sentence(ActiveSentence& sentence, const Place& place, std::size_t per_row) {
  const std::int32_t first_row = place.first_row;
  const auto row = static_cast<std::size_t>(first_row);
  const std::size_t live = sentence.state.live.size();
  const std::size_t forced = sentence.fresh() ? sentence.state.sentence.target_prefix.size() : 0;
  sentence.record(result, first_row, place.first_token, static_cast<std::int64_t>(1 + forced));
  Candidates found = first_of(std::span(result.tokens).subspan(row * per_row, live * per_row),
                              std::span(result.log_probabilities).subspan(row * per_row, live * per_row), per_row,
                              static_cast<std::size_t>(sentence.searcher->needs.candidates));
  if (!finite(found, first_row)) return sentence.give_up();
  give_wanted(first_row, live, found);
  SearchStrategy& strategy = *sentence.searcher->strategy;
  advance.clear();
  strategy.advance(sentence.state, found, advance);
  check_advance(sentence);
  if (sentence.state.options->cut_at_maximum && sentence.state.length + 1 >= sentence.state.maximum_length)
    cut_continuations(advance);
  sentence.apply(advance);
  if (!sentence.state.live.empty() && strategy.done(sentence.state)) sentence.abandon();
  core::require(!sentence.state.live.empty() || !sentence.state.finished.empty(), ErrorCode::kInternal,
                "the search strategy dropped every hypothesis of sentence {}", sentence.state.sentence.id);
}

/// Returns the candidates that the strategy of a sentence requested, when the step has more per row.
Candidates DecodingLoop::Impl::first_of(std::span<const std::int32_t> all_tokens,
                                        std::span<const double> all_log_probabilities, std::size_t per_row,
                                        std::size_t scored) {
  if (scored == per_row) return {all_tokens, all_log_probabilities, static_cast<std::int64_t>(per_row)};
  first_tokens.clear();
  first_log_probabilities.clear();
  for (std::size_t begin = 0; begin < all_tokens.size(); begin += per_row) {
    const auto row_tokens = all_tokens.subspan(begin, scored);
    const auto row_log_probabilities = all_log_probabilities.subspan(begin, scored);
    first_tokens.insert(first_tokens.end(), row_tokens.begin(), row_tokens.end());
    first_log_probabilities.insert(first_log_probabilities.end(), row_log_probabilities.begin(),
                                   row_log_probabilities.end());
  }
  return {first_tokens, first_log_probabilities, static_cast<std::int64_t>(scored)};
}

/// Whether a strategy can use the candidates. A row in which every token is forbidden has no finite score either; that
/// is not the model's fault: nothing can follow.
bool DecodingLoop::Impl::finite(const Candidates& candidates, std::int32_t first_row) const {
  for (std::size_t i = 0; i < candidates.log_probabilities.size(); ++i) {
    const double log_probability = candidates.log_probabilities[i];
    if (!std::isnan(log_probability) && log_probability < std::numeric_limits<double>::infinity()) continue;
    const std::int32_t row = first_row + static_cast<std::int32_t>(static_cast<std::int64_t>(i) / candidates.per_row);
    const auto edits_of_row = std::ranges::count(edits, row, &ops::LogitEdit::row);
    if (edits_of_row == 0) return false;
    std::int64_t choices = model.spec().target_vocabulary;
    if (!shortlist_of_row.empty()) {
      const ops::ShortlistRange& range = shortlist_of_row[static_cast<std::size_t>(row)];
      if (range.begin < range.end) choices = range.end - range.begin;
    }
    if (edits_of_row < choices) return false;
  }
  return true;
}

/// Checks the decision of a strategy, which may be a plugin's.
void DecodingLoop::Impl::check_advance(const ActiveSentence& sentence) const {
  const SentenceState& state = sentence.state;
  const auto is_parent = [&](std::int32_t parent) {
    return parent >= 0 && parent < static_cast<std::int32_t>(state.live.size());
  };
  core::require(advance.continuations.empty() || state.length < state.maximum_length, ErrorCode::kInternal,
                "the search strategy went on beyond the longest length, {} tokens", state.maximum_length);
  core::require(static_cast<std::int64_t>(advance.continuations.size()) <= sentence.maximum_live, ErrorCode::kInternal,
                "the search strategy keeps {} hypotheses but promised at most {}", advance.continuations.size(),
                sentence.maximum_live);
  for (const Advance::Continuation& continuation : advance.continuations)
    core::require(is_parent(continuation.parent) && continuation.token >= 0 &&
                      continuation.token < state.spec->target_vocabulary && !state.is_end(continuation.token),
                  ErrorCode::kInternal, "the search strategy continues hypothesis {} of {} with token {}",
                  continuation.parent, state.live.size(), continuation.token);
  for (const Advance::Ending& ending : advance.endings)
    core::require(is_parent(ending.parent) && ending.token >= -1 && ending.token < state.spec->target_vocabulary,
                  ErrorCode::kInternal, "the search strategy ends hypothesis {} of {} with token {}", ending.parent,
                  state.live.size(), ending.token);
}

DecodingLoop::DecodingLoop(StepModel& model, SharedSearch usual, const LoopLimits& limits)
    : impl_(std::make_unique<Impl>(model, std::move(usual), limits)) {}

DecodingLoop::DecodingLoop(StepModel& model, const DecodingOptions& options, const LoopLimits& limits)
    : DecodingLoop(model, std::make_shared<const SearchPlan>(options), limits) {}

DecodingLoop::~DecodingLoop() = default;

bool DecodingLoop::run(SentenceSource& source, HypothesisSink& sink, std::stop_token stop) {
  struct Cleanup {
    Impl& impl;
    ~Cleanup() {
      impl.awaited.reset();
      impl.pool.release_all();
    }
  };
  const Cleanup cleanup{*impl_};
  return impl_->run(source, sink, stop);
}

const LoopStatistics& DecodingLoop::statistics() const noexcept {
  return impl_->statistics;
}

}  // namespace dragoman::decoding

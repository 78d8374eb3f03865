#include "dragoman/decoding/decoding_loop.h"

#include "active_sentence.h"
#include "searcher.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include <dragoman/core/error.h>

namespace dragoman::decoding {

using core::ErrorCode;

SentenceSource::~SentenceSource() = default;
HypothesisSink::~HypothesisSink() = default;

void HypothesisSink::fail(std::uint64_t, std::exception_ptr error) {
  std::rethrow_exception(std::move(error));
}

struct DecodingLoop::Impl {
  using Active = std::unique_ptr<ActiveSentence>;

  StepModel& model;
  SharedSearch usual;
  LoopLimits limits;
  Searchers searchers;
  LoopStatistics statistics;

  std::vector<Active> active;
  std::vector<Active> group;
  std::vector<Active> spare;
  /// Was pulled, but did not fit yet.
  Active pending;
  /// Hypotheses that the sentences in `active` and `group` may keep, and those of the last sentence pulled: the next is
  /// likely to be of its kind, and is left where it is if there is no room for it.
  std::int64_t reserved_rows = 0;
  std::int64_t expected_rows = 1;
  bool exhausted = false;

  std::vector<nn::RowRef> rows;
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> offsets;
  std::vector<std::int32_t> slots;
  std::vector<ops::LogitEdit> edits;
  std::vector<ops::RowNoise> noise;
  std::vector<double> temperatures;
  RowEdits row_edits;
  StepResult result;
  std::vector<std::int32_t> first_tokens;
  std::vector<double> first_log_probabilities;
  Advance advance;

  Impl(StepModel& step_model, SharedSearch usual_search, const LoopLimits& loop_limits);

  bool run(SentenceSource& source, HypothesisSink& sink, const std::stop_token& stop);
  void release_all() noexcept;

  void drop_stopped(SentenceSource& source, HypothesisSink& sink);
  bool wants_more() const;
  void admit(SentenceSource& source, HypothesisSink& sink);
  void collect_group(SentenceSource& source, HypothesisSink& sink);
  Active pull(SentenceSource& source, HypothesisSink& sink, bool may_wait);
  bool fits(const ActiveSentence& sentence, std::int64_t group_tokens) const;
  void check(const Sentence& sentence) const;
  void admit_group();

  void step();
  void add_rows(const ActiveSentence& sentence, bool any_noise);
  void apply_processors(ActiveSentence& sentence);
  void advance_sentence(ActiveSentence& sentence, std::int32_t first_row, std::int64_t first_token,
                        std::size_t candidates);
  Candidates first_of(std::span<const std::int32_t> all_tokens, std::span<const double> all_log_probabilities,
                      std::size_t per_row, std::size_t wanted);
  bool finite(const Candidates& candidates, std::int32_t first_row) const;
  void check_advance(const ActiveSentence& sentence) const;
  void deliver(HypothesisSink& sink);
  void hand_over(ActiveSentence& sentence, HypothesisSink& sink);
  void count(const Hypothesis& best, std::size_t source_tokens);
};

DecodingLoop::Impl::Impl(StepModel& step_model, SharedSearch usual_search, const LoopLimits& loop_limits)
    : model(step_model), usual(std::move(usual_search)), limits(loop_limits) {
  searchers.get(usual, model);  // what is wrong with it is better known before there is a sentence
}

bool DecodingLoop::Impl::run(SentenceSource& source, HypothesisSink& sink, const std::stop_token& stop) {
  exhausted = false;
  while (true) {
    if (stop.stop_requested()) return false;
    drop_stopped(source, sink);
    admit(source, sink);
    if (active.empty() && exhausted && pending == nullptr) return true;
    if (active.empty()) continue;
    step();
    deliver(sink);
  }
}

void DecodingLoop::Impl::release_all() noexcept {
  for (std::vector<Active>* sentences : {&active, &group})
    for (Active& sentence : *sentences)
      if (sentence != nullptr && sentence->slot >= 0) model.release(std::exchange(sentence->slot, -1));
  active.clear();
  group.clear();
  pending.reset();
  reserved_rows = 0;
}

void DecodingLoop::Impl::drop_stopped(SentenceSource& source, HypothesisSink& sink) {
  bool any = false;
  for (const Active& sentence : active) {
    if (!source.stopped(sentence->state.sentence.id)) continue;
    sentence->fail(std::make_exception_ptr(core::Error(ErrorCode::kInterrupted, "the sentence was stopped")));
    any = true;
  }
  if (any) deliver(sink);
}

/// Refilling the pool by a quarter at a time gives the encoder a batch to work on.
bool DecodingLoop::Impl::wants_more() const {
  if (exhausted && pending == nullptr) return false;
  return active.empty() || limits.maximum_rows - reserved_rows >= std::max<std::int64_t>(1, limits.maximum_rows / 4);
}

void DecodingLoop::Impl::admit(SentenceSource& source, HypothesisSink& sink) {
  if (!wants_more()) return;
  while (true) {
    collect_group(source, sink);
    if (group.empty()) return;
    admit_group();
  }
}

/// Fills `group` with sentences to encode together.
void DecodingLoop::Impl::collect_group(SentenceSource& source, HypothesisSink& sink) {
  std::int64_t group_tokens = 0;
  while (reserved_rows + expected_rows <= limits.maximum_rows || (active.empty() && group.empty())) {
    const bool idle = active.empty() && group.empty();
    Active sentence = pending != nullptr ? std::move(pending) : pull(source, sink, idle);
    if (sentence == nullptr) return;
    if (!idle && !fits(*sentence, group_tokens)) {
      pending = std::move(sentence);
      return;
    }
    group_tokens += static_cast<std::int64_t>(sentence->state.sentence.source.size());
    reserved_rows += sentence->searcher->maximum_live;
    group.push_back(std::move(sentence));
  }
}

/// The next sentence that can be searched; nullptr if there is none now.
DecodingLoop::Impl::Active DecodingLoop::Impl::pull(SentenceSource& source, HypothesisSink& sink, bool may_wait) {
  while (!exhausted) {
    if (spare.empty()) spare.push_back(std::make_unique<ActiveSentence>());
    ActiveSentence& next = *spare.back();
    Sentence& sentence = next.state.sentence;
    const Supply supply = source.next(sentence, may_wait);
    exhausted = supply == Supply::kEnd;
    if (supply != Supply::kSentence) return nullptr;
    try {
      if (sentence.search == nullptr) sentence.search = usual;
      next.searcher = &searchers.get(sentence.search, model);
      check(sentence);
    } catch (...) {
      next.fail(std::current_exception());
      hand_over(next, sink);
      continue;
    }
    expected_rows = next.searcher->maximum_live;
    Active pulled = std::move(spare.back());
    spare.pop_back();
    return pulled;
  }
  return nullptr;
}

bool DecodingLoop::Impl::fits(const ActiveSentence& sentence, std::int64_t group_tokens) const {
  const auto tokens_here = static_cast<std::int64_t>(sentence.state.sentence.source.size());
  if (reserved_rows + sentence.searcher->maximum_live > limits.maximum_rows) return false;
  if (!group.empty() && group_tokens + tokens_here > limits.maximum_encoder_tokens) return false;
  if (limits.maximum_state_bytes == 0) return true;
  // A translation is about as long as its source.
  const auto expected_bytes = [&](const ActiveSentence& waiting) {
    const auto source = static_cast<std::int64_t>(waiting.state.sentence.source.size());
    return model.expected_bytes(source, source * waiting.searcher->maximum_live);
  };
  std::size_t expected = model.bytes_in_use() + expected_bytes(sentence);
  for (const Active& other : group) expected += expected_bytes(*other);
  return expected <= limits.maximum_state_bytes;
}

void DecodingLoop::Impl::check(const Sentence& sentence) const {
  const nn::SequenceSpec& spec = model.spec();
  const auto length = static_cast<std::int64_t>(sentence.source.size());
  core::require(length >= 1 && length <= spec.maximum_source_length, ErrorCode::kInvalidArgument,
                "sentence {} has {} source tokens; the model takes 1 to {}", sentence.id, length,
                spec.maximum_source_length);
  for (const std::int32_t token : sentence.source)
    core::require(token >= 0 && token < spec.source_vocabulary, ErrorCode::kInvalidArgument,
                  "sentence {}: source token {} is outside of the vocabulary of {}", sentence.id, token,
                  spec.source_vocabulary);
  const auto prefix = static_cast<std::int64_t>(sentence.target_prefix.size());
  core::require(prefix < spec.maximum_target_length, ErrorCode::kInvalidArgument,
                "sentence {}: the target prefix has {} tokens; the model takes at most {}", sentence.id, prefix,
                spec.maximum_target_length - 1);
  for (const std::int32_t token : sentence.target_prefix)
    core::require(token >= 0 && token < spec.target_vocabulary && token != spec.end, ErrorCode::kInvalidArgument,
                  "sentence {}: prefix token {} is the end or outside of the vocabulary of {}", sentence.id, token,
                  spec.target_vocabulary);
  core::require(sentence.line >> 48 == 0, ErrorCode::kInvalidArgument, "sentence {}: line {} is not below 2^48",
                sentence.id, sentence.line);
}

void DecodingLoop::Impl::admit_group() {
  tokens.clear();
  offsets.assign(1, 0);
  for (const Active& sentence : group) {
    const auto& source = sentence->state.sentence.source;
    tokens.insert(tokens.end(), source.begin(), source.end());
    offsets.push_back(static_cast<std::int32_t>(tokens.size()));
  }
  slots.resize(group.size());
  active.reserve(active.size() + group.size());
  model.admit({tokens, offsets}, slots);
  // All at once, so that release_all() knows of each whatever fails from here on.
  for (std::size_t i = 0; i < group.size(); ++i) group[i]->slot = slots[i];
  for (Active& sentence : group) {
    sentence->begin(model.spec());
    active.push_back(std::move(sentence));
  }
  group.clear();
}

/// One step of all; what the sentences need of it differs, so it has the most that any of them does.
void DecodingLoop::Impl::step() {
  rows.clear();
  tokens.clear();
  offsets.assign(1, 0);
  edits.clear();
  noise.clear();
  temperatures.clear();
  std::int64_t candidates = 1;
  bool any_noise = false, any_temperature = false, any_alignment = false;
  for (const Active& sentence : active) {
    const StepNeeds& needs = sentence->searcher->needs;
    candidates = std::max(candidates, needs.candidates);
    any_noise = any_noise || needs.noise;
    any_temperature = any_temperature || needs.temperature != 1;
    any_alignment = any_alignment || needs_alignment(sentence->searcher->options());
  }
  for (const Active& sentence : active) {
    apply_processors(*sentence);
    add_rows(*sentence, any_noise);
    if (any_temperature) temperatures.resize(rows.size(), sentence->searcher->needs.temperature);
  }
  if (rows.empty()) return;
  model.step({.rows = rows,
              .next = {tokens, offsets},
              .candidates = candidates,
              .temperatures = temperatures,
              .edits = edits,
              .noise = noise,
              .alignment = any_alignment},
             result);
  ++statistics.steps;
  statistics.rows += rows.size();
  const auto per_row = static_cast<std::size_t>(candidates);
  std::int32_t first_row = 0;
  for (const Active& sentence : active) {
    const auto live = static_cast<std::int32_t>(sentence->state.live.size());
    try {
      if (live > 0) advance_sentence(*sentence, first_row, offsets[static_cast<std::size_t>(first_row)], per_row);
    } catch (...) {
      sentence->fail(std::current_exception());
    }
    first_row += live;
  }
}

/// For the rows that the sentence is about to get.
void DecodingLoop::Impl::apply_processors(ActiveSentence& sentence) {
  const SentenceState& state = sentence.state;
  const std::size_t edits_before = edits.size();
  try {
    for (std::size_t i = 0; i < state.live.size(); ++i) {
      for (const auto& processor : sentence.searcher->processors) processor->apply(state, state.live[i], row_edits);
      row_edits.check(state.spec->target_vocabulary);
      row_edits.move_to(static_cast<std::int32_t>(rows.size() + i), edits);
    }
  } catch (...) {
    row_edits.clear();
    edits.resize(edits_before);
    sentence.fail(std::current_exception());
  }
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

void DecodingLoop::Impl::advance_sentence(ActiveSentence& sentence, std::int32_t first_row, std::int64_t first_token,
                                          std::size_t candidates) {
  const auto row = static_cast<std::size_t>(first_row);
  const std::size_t live = sentence.state.live.size();
  sentence.record(result, first_row, first_token, offsets[row + 1] - offsets[row]);
  const Candidates found = first_of(std::span(result.tokens).subspan(row * candidates, live * candidates),
                                    std::span(result.log_probabilities).subspan(row * candidates, live * candidates),
                                    candidates, static_cast<std::size_t>(sentence.searcher->needs.candidates));
  if (!finite(found, first_row)) return sentence.give_up();
  SearchStrategy& strategy = *sentence.searcher->strategy;
  advance.clear();
  strategy.advance(sentence.state, found, advance);
  check_advance(sentence);
  sentence.apply(advance);
  if (!sentence.state.live.empty() && strategy.done(sentence.state)) sentence.abandon();
  core::require(!sentence.state.live.empty() || !sentence.state.finished.empty(), ErrorCode::kInternal,
                "the search strategy dropped every hypothesis of sentence {}", sentence.state.sentence.id);
}

/// The candidates that a sentence's strategy asked for, where the step had more of each row.
Candidates DecodingLoop::Impl::first_of(std::span<const std::int32_t> all_tokens,
                                        std::span<const double> all_log_probabilities, std::size_t per_row,
                                        std::size_t wanted) {
  if (wanted == per_row) return {all_tokens, all_log_probabilities, static_cast<std::int64_t>(per_row)};
  first_tokens.clear();
  first_log_probabilities.clear();
  for (std::size_t begin = 0; begin < all_tokens.size(); begin += per_row) {
    const auto row_tokens = all_tokens.subspan(begin, wanted);
    const auto row_log_probabilities = all_log_probabilities.subspan(begin, wanted);
    first_tokens.insert(first_tokens.end(), row_tokens.begin(), row_tokens.end());
    first_log_probabilities.insert(first_log_probabilities.end(), row_log_probabilities.begin(),
                                   row_log_probabilities.end());
  }
  return {first_tokens, first_log_probabilities, static_cast<std::int64_t>(wanted)};
}

/// Whether a strategy can work with them. A row in which everything is forbidden has no finite score either, and that
/// is no fault of the model: then nothing follows.
bool DecodingLoop::Impl::finite(const Candidates& candidates, std::int32_t first_row) const {
  for (std::size_t i = 0; i < candidates.log_probabilities.size(); ++i) {
    const double log_probability = candidates.log_probabilities[i];
    if (!std::isnan(log_probability) && log_probability < std::numeric_limits<double>::infinity()) continue;
    const std::int32_t row = first_row + static_cast<std::int32_t>(static_cast<std::int64_t>(i) / candidates.per_row);
    const auto edits_of_row = std::ranges::count(edits, row, &ops::LogitEdit::row);
    if (edits_of_row < model.spec().target_vocabulary) return false;
  }
  return true;
}

/// Strategies may come from plugins.
void DecodingLoop::Impl::check_advance(const ActiveSentence& sentence) const {
  const SentenceState& state = sentence.state;
  const auto is_parent = [&](std::int32_t parent) {
    return parent >= 0 && parent < static_cast<std::int32_t>(state.live.size());
  };
  core::require(advance.continuations.empty() || state.length < state.maximum_length, ErrorCode::kInternal,
                "the search strategy went on beyond the longest length, {} tokens", state.maximum_length);
  core::require(static_cast<std::int64_t>(advance.continuations.size()) <= sentence.searcher->maximum_live,
                ErrorCode::kInternal, "the search strategy keeps {} hypotheses but promised at most {}",
                advance.continuations.size(), sentence.searcher->maximum_live);
  for (const Advance::Continuation& continuation : advance.continuations)
    core::require(is_parent(continuation.parent) && continuation.token >= 0 &&
                      continuation.token < state.spec->target_vocabulary && continuation.token != state.spec->end,
                  ErrorCode::kInternal, "the search strategy continues hypothesis {} of {} with token {}",
                  continuation.parent, state.live.size(), continuation.token);
  for (const Advance::Ending& ending : advance.endings)
    core::require(is_parent(ending.parent), ErrorCode::kInternal, "the search strategy ends hypothesis {} of {}",
                  ending.parent, state.live.size());
}

void DecodingLoop::Impl::deliver(HypothesisSink& sink) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < active.size(); ++i) {
    ActiveSentence& sentence = *active[i];
    if (!sentence.state.live.empty()) {
      std::swap(active[kept++], active[i]);
      continue;
    }
    model.release(std::exchange(sentence.slot, -1));
    reserved_rows -= sentence.searcher->maximum_live;
    hand_over(sentence, sink);
  }
  for (std::size_t i = kept; i < active.size(); ++i) spare.push_back(std::move(active[i]));
  active.resize(kept);
}

/// The result of a sentence that is in the model no more. Its memory is for a later one.
void DecodingLoop::Impl::hand_over(ActiveSentence& sentence, HypothesisSink& sink) {
  const std::uint64_t id = sentence.state.sentence.id;
  const std::exception_ptr failure = sentence.failure;
  std::vector<Hypothesis> hypotheses = std::exchange(sentence.state.finished, {});
  const std::size_t source_tokens = sentence.state.sentence.source.size();
  sentence.retire();
  if (failure != nullptr) return sink.fail(id, failure);
  count(hypotheses.front(), source_tokens);
  sink.deliver(id, std::move(hypotheses));
}

void DecodingLoop::Impl::count(const Hypothesis& best, std::size_t source_tokens) {
  ++statistics.sentences;
  statistics.cut_sentences += best.stopped_by == StoppedBy::kLength ? 1 : 0;
  statistics.source_tokens += source_tokens;
  statistics.target_tokens += best.tokens.size();
}

DecodingLoop::DecodingLoop(StepModel& model, SharedSearch usual, const LoopLimits& limits)
    : impl_(std::make_unique<Impl>(model, std::move(usual), limits)) {}

DecodingLoop::DecodingLoop(StepModel& model, const DecodingOptions& options, const LoopLimits& limits)
    : DecodingLoop(model, std::make_shared<const Search>(options), limits) {}

DecodingLoop::~DecodingLoop() = default;

bool DecodingLoop::run(SentenceSource& source, HypothesisSink& sink, std::stop_token stop) {
  struct Cleanup {
    Impl& impl;
    ~Cleanup() { impl.release_all(); }
  };
  const Cleanup cleanup{*impl_};
  return impl_->run(source, sink, stop);
}

const LoopStatistics& DecodingLoop::statistics() const noexcept {
  return impl_->statistics;
}

}  // namespace dragoman::decoding

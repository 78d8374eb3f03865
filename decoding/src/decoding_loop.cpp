#include "dragoman/decoding/decoding_loop.h"

#include "active_sentence.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <dragoman/core/error.h>

namespace dragoman::decoding {

using core::ErrorCode;

SentenceSource::~SentenceSource() = default;
HypothesisSink::~HypothesisSink() = default;

struct DecodingLoop::Impl {
  using Active = std::unique_ptr<ActiveSentence>;

  StepModel& model;
  DecodingOptions options;
  LoopLimits limits;
  std::unique_ptr<SearchStrategy> strategy;
  LogitsProcessors processors;
  StepNeeds needs;
  std::size_t capacity;
  LoopStatistics statistics;

  std::vector<Active> active;
  std::vector<Active> group;
  std::vector<Active> spare;
  /// Was pulled, but did not fit yet.
  Active pending;
  bool exhausted = false;

  std::vector<nn::RowRef> rows;
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> offsets;
  std::vector<std::int32_t> slots;
  std::vector<ops::LogitEdit> edits;
  std::vector<ops::RowNoise> noise;
  RowEdits row_edits;
  StepResult result;
  Advance advance;

  Impl(StepModel& step_model, const DecodingOptions& decoding_options, std::unique_ptr<SearchStrategy> search_strategy,
       LogitsProcessors further, const LoopLimits& loop_limits);

  bool run(SentenceSource& source, HypothesisSink& sink, const std::stop_token& stop);
  void release_all() noexcept;

  bool wants_more() const;
  void admit(SentenceSource& source);
  void collect_group(SentenceSource& source);
  Active pull(SentenceSource& source, bool may_wait);
  bool fits(const ActiveSentence& sentence, std::int64_t group_tokens) const;
  void check_strategy() const;
  void check(const Sentence& sentence) const;
  void admit_group();

  void step();
  void add_rows(const ActiveSentence& sentence);
  void advance_sentence(ActiveSentence& sentence, std::int32_t first_row, std::int64_t first_token);
  bool finite(const Candidates& candidates, std::int32_t first_row) const;
  void check_advance(const SentenceState& state) const;
  void deliver(HypothesisSink& sink);
  void count(const Hypothesis& best, std::size_t source_tokens);
};

DecodingLoop::Impl::Impl(StepModel& step_model, const DecodingOptions& decoding_options,
                         std::unique_ptr<SearchStrategy> search_strategy, LogitsProcessors further,
                         const LoopLimits& loop_limits)
    : model(step_model), options(decoding_options), limits(loop_limits), strategy(std::move(search_strategy)) {
  decoding::check(options, model.spec());
  core::require(strategy != nullptr, ErrorCode::kInvalidArgument, "decoding: there is no search strategy");
  core::require(
      !needs_alignment(options) || model.has_alignment(), ErrorCode::kUnsupported,
      "decoding: alignments (want_alignment, replace_unknown, coverage_penalty) were asked for, but this model has no "
      "attention to take them from");
  processors = make_processors(options, model.spec());
  for (auto& processor : further) processors.push_back(std::move(processor));
  needs = strategy->needs(model.spec().target_vocabulary);
  check_strategy();
  capacity = static_cast<std::size_t>(std::max<std::int64_t>(1, limits.maximum_rows / strategy->maximum_live()));
}

/// Strategies may come from plugins.
void DecodingLoop::Impl::check_strategy() const {
  const std::int64_t vocabulary = model.spec().target_vocabulary;
  core::require(strategy->maximum_live() >= 1, ErrorCode::kInternal, "the search strategy keeps at most {} hypotheses",
                strategy->maximum_live());
  core::require(strategy->starts() >= 1 && strategy->starts() <= strategy->maximum_live(), ErrorCode::kInternal,
                "the search strategy starts with {} hypotheses; it must be from 1 to the {} that it keeps at most",
                strategy->starts(), strategy->maximum_live());
  core::require(needs.candidates >= 1 && needs.candidates <= vocabulary, ErrorCode::kInternal,
                "the search strategy wants {} candidates of a vocabulary of {}", needs.candidates, vocabulary);
  core::require(needs.temperature > 0 && std::isfinite(needs.temperature), ErrorCode::kInternal,
                "the search strategy wants a temperature of {}", needs.temperature);
}

bool DecodingLoop::Impl::run(SentenceSource& source, HypothesisSink& sink, const std::stop_token& stop) {
  exhausted = false;
  while (true) {
    if (stop.stop_requested()) return false;
    admit(source);
    if (active.empty() && exhausted) return true;
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
}

/// Refilling the pool by a quarter at a time gives the encoder a batch to work on.
bool DecodingLoop::Impl::wants_more() const {
  if (exhausted && pending == nullptr) return false;
  return active.empty() || capacity - active.size() >= std::max<std::size_t>(1, capacity / 4);
}

void DecodingLoop::Impl::admit(SentenceSource& source) {
  if (!wants_more()) return;
  while (active.size() < capacity) {
    collect_group(source);
    if (group.empty()) return;
    admit_group();
  }
}

/// Fills `group` with sentences to encode together.
void DecodingLoop::Impl::collect_group(SentenceSource& source) {
  std::int64_t group_tokens = 0;
  while (active.size() + group.size() < capacity) {
    const bool idle = active.empty() && group.empty();
    Active sentence = pending != nullptr ? std::move(pending) : pull(source, idle);
    if (sentence == nullptr) return;
    if (!idle && !fits(*sentence, group_tokens)) {
      pending = std::move(sentence);
      return;
    }
    group_tokens += static_cast<std::int64_t>(sentence->state.sentence.source.size());
    group.push_back(std::move(sentence));
  }
}

DecodingLoop::Impl::Active DecodingLoop::Impl::pull(SentenceSource& source, bool may_wait) {
  if (exhausted) return nullptr;
  if (spare.empty()) spare.push_back(std::make_unique<ActiveSentence>());
  Sentence& sentence = spare.back()->state.sentence;
  const Supply supply = source.next(sentence, may_wait);
  exhausted = supply == Supply::kEnd;
  if (supply != Supply::kSentence) return nullptr;
  check(sentence);
  Active pulled = std::move(spare.back());
  spare.pop_back();
  return pulled;
}

bool DecodingLoop::Impl::fits(const ActiveSentence& sentence, std::int64_t group_tokens) const {
  const auto tokens_here = static_cast<std::int64_t>(sentence.state.sentence.source.size());
  if (!group.empty() && group_tokens + tokens_here > limits.maximum_encoder_tokens) return false;
  if (limits.maximum_state_bytes == 0) return true;
  // A translation is about as long as its source.
  std::size_t expected = model.bytes_in_use();
  for (const Active& other : group) {
    const auto source = static_cast<std::int64_t>(other->state.sentence.source.size());
    expected += model.expected_bytes(source, source * strategy->maximum_live());
  }
  expected += model.expected_bytes(tokens_here, tokens_here * strategy->maximum_live());
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
    sentence->begin(options, model.spec(), strategy->starts());
    active.push_back(std::move(sentence));
  }
  group.clear();
}

void DecodingLoop::Impl::step() {
  rows.clear();
  tokens.clear();
  offsets.assign(1, 0);
  edits.clear();
  noise.clear();
  for (const Active& sentence : active) add_rows(*sentence);
  model.step({.rows = rows,
              .next = {tokens, offsets},
              .candidates = needs.candidates,
              .temperature = needs.temperature,
              .edits = edits,
              .noise = noise,
              .alignment = needs_alignment(options)},
             result);
  ++statistics.steps;
  statistics.rows += rows.size();
  std::int32_t first_row = 0;
  for (const Active& sentence : active) {
    const auto live = static_cast<std::int32_t>(sentence->state.live.size());
    advance_sentence(*sentence, first_row, offsets[static_cast<std::size_t>(first_row)]);
    first_row += live;
  }
}

void DecodingLoop::Impl::add_rows(const ActiveSentence& sentence) {
  const SentenceState& state = sentence.state;
  for (std::size_t i = 0; i < state.live.size(); ++i) {
    const LiveHypothesis& hypothesis = state.live[i];
    const auto row = static_cast<std::int32_t>(rows.size());
    rows.push_back({sentence.slot, sentence.parent_row(i)});
    if (sentence.fresh()) {
      tokens.push_back(state.spec->decoder_start);
      tokens.insert(tokens.end(), hypothesis.tokens.begin(), hypothesis.tokens.end());
    } else {
      tokens.push_back(hypothesis.tokens.back());
    }
    offsets.push_back(static_cast<std::int32_t>(tokens.size()));
    for (const auto& processor : processors) processor->apply(state, hypothesis, row_edits);
    row_edits.move_to(row, edits);
    if (needs.noise)
      noise.push_back(
          {options.sampling.seed, random_stream(state, hypothesis), static_cast<std::uint64_t>(state.length)});
  }
}

void DecodingLoop::Impl::advance_sentence(ActiveSentence& sentence, std::int32_t first_row, std::int64_t first_token) {
  const auto row = static_cast<std::size_t>(first_row);
  const auto per_row = static_cast<std::size_t>(needs.candidates);
  const std::size_t live = sentence.state.live.size();
  sentence.record(result, first_row, first_token, offsets[row + 1] - offsets[row]);
  const Candidates candidates{std::span(result.tokens).subspan(row * per_row, live * per_row),
                              std::span(result.log_probabilities).subspan(row * per_row, live * per_row),
                              needs.candidates};
  if (!finite(candidates, first_row)) return sentence.give_up();
  advance.clear();
  strategy->advance(sentence.state, candidates, advance);
  check_advance(sentence.state);
  sentence.apply(advance);
  if (!sentence.state.live.empty() && strategy->done(sentence.state)) sentence.abandon();
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
void DecodingLoop::Impl::check_advance(const SentenceState& state) const {
  const auto is_parent = [&](std::int32_t parent) {
    return parent >= 0 && parent < static_cast<std::int32_t>(state.live.size());
  };
  core::require(advance.continuations.empty() || state.length < state.maximum_length, ErrorCode::kInternal,
                "the search strategy went on beyond the longest length, {} tokens", state.maximum_length);
  core::require(static_cast<std::int64_t>(advance.continuations.size()) <= strategy->maximum_live(),
                ErrorCode::kInternal, "the search strategy keeps {} hypotheses but promised at most {}",
                advance.continuations.size(), strategy->maximum_live());
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
    core::require(!sentence.state.finished.empty(), ErrorCode::kInternal,
                  "the search strategy dropped every hypothesis of sentence {}", sentence.state.sentence.id);
    count(sentence.state.finished.front(), sentence.state.sentence.source.size());
    sink.deliver(sentence.state.sentence.id, std::exchange(sentence.state.finished, {}));
  }
  for (std::size_t i = kept; i < active.size(); ++i) spare.push_back(std::move(active[i]));
  active.resize(kept);
}

void DecodingLoop::Impl::count(const Hypothesis& best, std::size_t source_tokens) {
  ++statistics.sentences;
  statistics.cut_sentences += best.stopped_by == StoppedBy::kLength ? 1 : 0;
  statistics.source_tokens += source_tokens;
  statistics.target_tokens += best.tokens.size();
}

DecodingLoop::DecodingLoop(StepModel& model, const DecodingOptions& options, const LoopLimits& limits)
    : DecodingLoop(model, options, make_strategy(options), {}, limits) {}

DecodingLoop::DecodingLoop(StepModel& model, const DecodingOptions& options, std::unique_ptr<SearchStrategy> strategy,
                           LogitsProcessors further_processors, const LoopLimits& limits)
    : impl_(std::make_unique<Impl>(model, options, std::move(strategy), std::move(further_processors), limits)) {}

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

#include "sentence_pool.h"

#include "dragoman/decoding/shortlist.h"

#include <algorithm>
#include <utility>

#include <dragoman/core/error.h>

namespace dragoman::decoding {

using core::ErrorCode;

namespace {

/// Checks that the model supports a sentence.
void check(const Sentence& sentence, const DecodingOptions& options, const nn::SequenceSpec& spec) {
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
    core::require(token >= 0 && token < spec.target_vocabulary && !is_end(options, spec, token),
                  ErrorCode::kInvalidArgument,
                  "sentence {}: prefix token {} is the end or outside of the vocabulary of {}", sentence.id, token,
                  spec.target_vocabulary);
  if (sentence.shortlist != nullptr)
    core::require(sentence.shortlist->source_vocabulary() == spec.source_vocabulary &&
                      sentence.shortlist->target_vocabulary() == spec.target_vocabulary,
                  ErrorCode::kInvalidArgument,
                  "sentence {}: the shortlist is of vocabularies of {} and {} tokens, the model of {} and {}",
                  sentence.id, sentence.shortlist->source_vocabulary(), sentence.shortlist->target_vocabulary(),
                  spec.source_vocabulary, spec.target_vocabulary);
  core::require(sentence.line >> 48 == 0, ErrorCode::kInvalidArgument, "sentence {}: line {} is not below 2^48",
                sentence.id, sentence.line);
}

void check_constraints(const Sentence& sentence, const Searcher& searcher, const nn::SequenceSpec& spec) {
  const DecodingOptions& options = searcher.options();
  if (sentence.constraints.empty()) return;
  core::require(searcher.strategy->takes_constraints(), ErrorCode::kInvalidArgument,
                "sentence {} has constraints, which only a beam search of at least 2 hypotheses in one group meets",
                sentence.id);
  for (const Constraint& constraint : sentence.constraints) {
    core::require(!constraint.forms.empty(), ErrorCode::kInvalidArgument, "sentence {}: a constraint has no forms",
                  sentence.id);
    for (const Constraint::Form& form : constraint.forms) {
      core::require(!form.tokens.empty(), ErrorCode::kInvalidArgument, "sentence {}: a constraint has no tokens",
                    sentence.id);
      for (const std::int32_t token : form.tokens)
        core::require(token >= 0 && token < spec.target_vocabulary && !is_end(options, spec, token),
                      ErrorCode::kInvalidArgument,
                      "sentence {}: token {} of a constraint is the end or outside of the vocabulary of {}",
                      sentence.id, token, spec.target_vocabulary);
    }
  }
}

}  // namespace

SentencePool::SentencePool(StepModel& model, SharedSearch usual, const LoopLimits& limits, LoopStatistics& statistics)
    : model_(model), usual_(std::move(usual)), limits_(limits), statistics_(statistics) {
  searchers_.get(usual_, model_);  // report an invalid search before the first sentence
}

void SentencePool::release_all() noexcept {
  for (std::vector<Active>* sentences : {&active_, &group_})
    for (Active& sentence : *sentences)
      if (sentence != nullptr && sentence->slot >= 0) model_.release(std::exchange(sentence->slot, -1));
  active_.clear();
  group_.clear();
  pending_.reset();
  reserved_rows_ = 0;
}

void SentencePool::drop_stopped(SentenceSource& source, HypothesisSink& sink) {
  bool any = false;
  for (const Active& sentence : active_) {
    if (!source.stopped(sentence->state.sentence.id)) continue;
    sentence->fail(std::make_exception_ptr(core::Error(ErrorCode::kInterrupted, "interrupted while translating")));
    any = true;
  }
  if (any) deliver(sink);
}

/// In searches with several hypotheses, more rows share the weights that a step streams through the caches. In searches
/// with one hypothesis per sentence, the keys and values of that number of sentences would evict the weights. Measured
/// with models of 2 and 60 million parameters.
std::int64_t SentencePool::maximum_rows() const {
  constexpr std::int64_t kOfManySentences = 64;
  constexpr std::int64_t kOfBeams = 96;
  if (limits_.maximum_rows > 0) return limits_.maximum_rows;
  return expected_rows_ == 1 ? kOfManySentences : kOfBeams;
}

std::int64_t SentencePool::maximum_encoder_tokens() const {
  constexpr std::int64_t kOfCaches = 256;
  return limits_.maximum_encoder_tokens > 0 ? limits_.maximum_encoder_tokens : kOfCaches;
}

/// Refilling a quarter of the pool at a time gives the encoder a batch.
bool SentencePool::wants_more() const {
  if (exhausted_ && pending_ == nullptr) return false;
  return active_.empty() || maximum_rows() - reserved_rows_ >= std::max<std::int64_t>(1, maximum_rows() / 4);
}

void SentencePool::admit(SentenceSource& source, HypothesisSink& sink) {
  if (!wants_more()) return;
  while (true) {
    collect_group(source, sink);
    if (group_.empty()) return;
    admit_group();
  }
}

/// Fills the group with sentences to encode together.
void SentencePool::collect_group(SentenceSource& source, HypothesisSink& sink) {
  std::int64_t group_tokens = 0;
  while (reserved_rows_ + expected_rows_ <= maximum_rows() || (active_.empty() && group_.empty())) {
    const bool idle = active_.empty() && group_.empty();
    Active sentence = pending_ != nullptr ? std::move(pending_) : pull(source, sink, idle);
    if (sentence == nullptr) return;
    if (!idle && !fits(*sentence, group_tokens)) {
      pending_ = std::move(sentence);
      return;
    }
    group_tokens += static_cast<std::int64_t>(sentence->state.sentence.source.size());
    reserved_rows_ += sentence->maximum_live;
    group_.push_back(std::move(sentence));
  }
}

/// Returns the next sentence that can be searched, or nullptr if there is none now.
SentencePool::Active SentencePool::pull(SentenceSource& source, HypothesisSink& sink, bool may_wait) {
  while (!exhausted_) {
    if (spare_.empty()) spare_.push_back(std::make_unique<ActiveSentence>());
    ActiveSentence& next = *spare_.back();
    Sentence& sentence = next.state.sentence;
    const Supply supply = source.next(sentence, may_wait);
    exhausted_ = supply == Supply::kEnd;
    if (supply != Supply::kSentence) return nullptr;
    try {
      if (sentence.search == nullptr) sentence.search = usual_;
      next.searcher = &searchers_.get(sentence.search, model_);
      check(sentence, next.searcher->options(), model_.spec());
      check_constraints(sentence, *next.searcher, model_.spec());
      next.maximum_live = next.searcher->strategy->maximum_live_of(sentence);
    } catch (...) {
      next.fail(std::current_exception());
      hand_over(next, sink);
      continue;
    }
    expected_rows_ = next.maximum_live;
    Active pulled = std::move(spare_.back());
    spare_.pop_back();
    return pulled;
  }
  return nullptr;
}

bool SentencePool::fits(const ActiveSentence& sentence, std::int64_t group_tokens) const {
  const auto tokens_here = static_cast<std::int64_t>(sentence.state.sentence.source.size());
  if (reserved_rows_ + sentence.maximum_live > maximum_rows()) return false;
  if (!group_.empty() && group_tokens + tokens_here > maximum_encoder_tokens()) return false;
  if (limits_.maximum_state_bytes == 0) return true;
  // A translation is about as long as its source.
  const auto expected_bytes = [&](const ActiveSentence& waiting) {
    const auto source = static_cast<std::int64_t>(waiting.state.sentence.source.size());
    return model_.expected_bytes(source, source * waiting.maximum_live);
  };
  std::size_t expected = model_.bytes_in_use() + expected_bytes(sentence);
  for (const Active& other : group_) expected += expected_bytes(*other);
  return expected <= limits_.maximum_state_bytes;
}

void SentencePool::admit_group() {
  tokens_.clear();
  offsets_.assign(1, 0);
  for (const Active& sentence : group_) {
    const auto& source = sentence->state.sentence.source;
    tokens_.insert(tokens_.end(), source.begin(), source.end());
    offsets_.push_back(static_cast<std::int32_t>(tokens_.size()));
  }
  slots_.resize(group_.size());
  active_.reserve(active_.size() + group_.size());
  model_.admit({tokens_, offsets_}, slots_);
  // All slots are set before anything can fail, so that release_all() releases each of them.
  for (std::size_t i = 0; i < group_.size(); ++i) group_[i]->slot = slots_[i];
  for (Active& sentence : group_) {
    sentence->begin(model_.spec());
    active_.push_back(std::move(sentence));
  }
  group_.clear();
}

void SentencePool::deliver(HypothesisSink& sink) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    ActiveSentence& sentence = *active_[i];
    if (!sentence.state.live.empty()) {
      std::swap(active_[kept++], active_[i]);
      continue;
    }
    model_.release(std::exchange(sentence.slot, -1));
    reserved_rows_ -= sentence.maximum_live;
    hand_over(sentence, sink);
  }
  for (std::size_t i = kept; i < active_.size(); ++i) spare_.push_back(std::move(active_[i]));
  active_.resize(kept);
}

/// Delivers the result of a sentence that is no longer in the model. Its memory is kept for a later sentence.
void SentencePool::hand_over(ActiveSentence& sentence, HypothesisSink& sink) {
  const std::uint64_t id = sentence.state.sentence.id;
  const std::exception_ptr failure = sentence.failure;
  std::vector<Hypothesis> hypotheses = std::exchange(sentence.state.finished, {});
  const std::size_t source_tokens = sentence.state.sentence.source.size();
  sentence.retire();
  if (failure != nullptr) return sink.fail(id, failure);
  count(hypotheses.front(), source_tokens);
  sink.deliver(id, std::move(hypotheses));
}

void SentencePool::count(const Hypothesis& best, std::size_t source_tokens) {
  ++statistics_.sentences;
  statistics_.cut_sentences += best.stopped_by == StoppedBy::kLength ? 1 : 0;
  statistics_.source_tokens += source_tokens;
  statistics_.target_tokens += best.tokens.size();
}

}  // namespace dragoman::decoding

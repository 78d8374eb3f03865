#include "dragoman/decoding/logits_processor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <dragoman/core/error.h>

namespace dragoman::decoding {
namespace {

using Tokens = std::span<const std::int32_t>;

class MinimumLength final : public LogitsProcessor {
 public:
  void apply(const SentenceState& state, const LiveHypothesis& hypothesis, RowEdits& edits) override {
    const auto source = static_cast<std::int32_t>(state.sentence.source.size()) - 1;
    // A minimum above the maximum length must not prevent a hypothesis from ending at the maximum.
    const std::int32_t minimum = std::min(minimum_target_length(*state.options, source), state.maximum_length);
    if (static_cast<std::int32_t>(hypothesis.tokens.size()) >= minimum) return;
    if (state.options->ends.empty()) edits.suppress(state.spec->end);
    for (const std::int32_t end : state.options->ends) edits.suppress(end);
  }
};

class Suppression final : public LogitsProcessor {
 public:
  explicit Suppression(std::vector<std::vector<std::int32_t>> sequences) : sequences_(std::move(sequences)) {}
  void apply(const SentenceState&, const LiveHypothesis& hypothesis, RowEdits& edits) override {
    for (const auto& sequence : sequences_)
      if (ends_with(hypothesis.tokens, Tokens(sequence).first(sequence.size() - 1))) edits.suppress(sequence.back());
  }

 private:
  static bool ends_with(Tokens tokens, Tokens start) {
    return tokens.size() >= start.size() &&
           std::equal(start.begin(), start.end(), tokens.end() - static_cast<std::ptrdiff_t>(start.size()));
  }

  std::vector<std::vector<std::int32_t>> sequences_;
};

class NoRepeatedNgram final : public LogitsProcessor {
 public:
  explicit NoRepeatedNgram(std::int32_t n) : context_(static_cast<std::size_t>(n) - 1) {}
  void apply(const SentenceState&, const LiveHypothesis& hypothesis, RowEdits& edits) override {
    const Tokens tokens = hypothesis.tokens;
    if (tokens.size() < context_) return;
    const Tokens last = tokens.last(context_);
    for (std::size_t i = 0; i + context_ < tokens.size(); ++i)
      if (std::equal(last.begin(), last.end(), tokens.begin() + static_cast<std::ptrdiff_t>(i)))
        edits.suppress(tokens[i + context_]);
  }

 private:
  std::size_t context_;
};

class RepetitionPenalty final : public LogitsProcessor {
 public:
  explicit RepetitionPenalty(double penalty) : penalty_(static_cast<float>(penalty)) {}
  void apply(const SentenceState&, const LiveHypothesis& hypothesis, RowEdits& edits) override {
    seen_.assign(hypothesis.tokens.begin(), hypothesis.tokens.end());
    std::sort(seen_.begin(), seen_.end());
    const auto end = std::unique(seen_.begin(), seen_.end());
    for (auto token = seen_.begin(); token != end; ++token) edits.penalise(*token, penalty_);
  }

 private:
  float penalty_;
  std::vector<std::int32_t> seen_;
};

}  // namespace

LogitsProcessor::~LogitsProcessor() = default;

void LogitsProcessor::apply_all(const SentenceState& state, std::span<RowEdits> edits) {
  for (std::size_t i = 0; i < edits.size(); ++i) apply(state, state.live[i], edits[i]);
}

void RowEdits::check(std::int64_t vocabulary) const {
  for (const ops::LogitEdit& edit : edits_) {
    core::require(edit.token >= 0 && edit.token < vocabulary, core::ErrorCode::kInvalidArgument,
                  "a logits processor changes the token {}, and there are {}", edit.token, vocabulary);
    core::require(
        edit.penalty > 0 && std::isfinite(edit.penalty) && !std::isnan(edit.bias) &&
            edit.bias < std::numeric_limits<float>::infinity(),
        core::ErrorCode::kInvalidArgument,
        "a logits processor changes the token {} by the penalty {} and the bias {}; penalties are above 0 and "
        "finite, biases are finite or -infinity",
        edit.token, edit.penalty, edit.bias);
  }
}

void RowEdits::move_to(std::int32_t row, std::vector<ops::LogitEdit>& all) {
  std::stable_sort(edits_.begin(), edits_.end(),
                   [](const ops::LogitEdit& a, const ops::LogitEdit& b) { return a.token < b.token; });
  const std::size_t first = all.size();
  for (const ops::LogitEdit& edit : edits_) {
    if (all.size() > first && all.back().token == edit.token) {
      all.back().penalty *= edit.penalty;
      all.back().bias += edit.bias;
    } else {
      all.push_back({row, edit.token, edit.penalty, edit.bias});
    }
  }
  edits_.clear();
}

LogitsProcessors make_processors(const DecodingOptions& options, const nn::SequenceSpec& spec) {
  LogitsProcessors result;
  if (options.minimum_length > 0 || options.minimum_length_factor > 0)
    result.push_back(std::make_unique<MinimumLength>());
  auto suppressed = options.suppressed;
  if (options.suppress_unknown) suppressed.push_back({spec.unknown});
  if (!suppressed.empty()) result.push_back(std::make_unique<Suppression>(std::move(suppressed)));
  if (options.no_repeat_ngram > 0) result.push_back(std::make_unique<NoRepeatedNgram>(options.no_repeat_ngram));
  if (options.repetition_penalty != 1)
    result.push_back(std::make_unique<RepetitionPenalty>(options.repetition_penalty));
  return result;
}

}  // namespace dragoman::decoding

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dragoman/decoding/sentence.h>
#include <dragoman/ops/project_top_k.h>

namespace dragoman::decoding {

/// Collects the edits of one row. Several edits of a token are combined: penalties multiply, biases add.
class RowEdits {
 public:
  void suppress(std::int32_t token) { edit(token, 1, ops::LogitEdit::kSuppress); }
  void penalise(std::int32_t token, float penalty) { edit(token, penalty, 0); }
  void add(std::int32_t token, float bias) { edit(token, 1, bias); }

  /// Error{kInvalidArgument} naming the first invalid edit: a token outside the vocabulary, or a penalty or bias that
  /// does not map a logit to a number.
  void check(std::int64_t vocabulary) const;
  /// Appends the edits to `all` as edits of `row`, sorted and unique, and clears this object.
  void move_to(std::int32_t row, std::vector<ops::LogitEdit>& all);
  void clear() { edits_.clear(); }

 private:
  void edit(std::int32_t token, float penalty, float bias) { edits_.push_back({0, token, penalty, bias}); }

  std::vector<ops::LogitEdit> edits_;
};

/// Changes a few logits of the next token of a hypothesis, before the softmax. An object belongs to one loop, so it may
/// keep scratch memory. The edits may depend on the arguments only.
///
///     class NoToken final : public LogitsProcessor {
///      public:
///       explicit NoToken(std::int32_t token) : token_(token) {}
///       void apply(const SentenceState&, const LiveHypothesis&, RowEdits& edits) override { edits.suppress(token_); }
///
///      private:
///       std::int32_t token_;
///     };
class LogitsProcessor {
 public:
  virtual ~LogitsProcessor();
  virtual void apply(const SentenceState& state, const LiveHypothesis& hypothesis, RowEdits& edits) = 0;
  /// Edits the rows of all living hypotheses of a sentence, edits[i] for state.live[i]. Calls apply() for each;
  /// override it where one call for all costs less.
  virtual void apply_all(const SentenceState& state, std::span<RowEdits> edits);
};

using LogitsProcessors = std::vector<std::unique_ptr<LogitsProcessor>>;

/// Creates the processors that the options require: minimum length, suppression, n-gram blocking, repetition penalty.
/// Empty if the options require none.
LogitsProcessors make_processors(const DecodingOptions& options, const nn::SequenceSpec& spec);

}  // namespace dragoman::decoding

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <dragoman/decoding/sentence.h>
#include <dragoman/ops/project_top_k.h>

namespace dragoman::decoding {

/// Collects the edits of one row; several edits of a token are joined: penalties multiply, biases add.
class RowEdits {
 public:
  void suppress(std::int32_t token) { edit(token, 1, ops::LogitEdit::kSuppress); }
  void penalise(std::int32_t token, float penalty) { edit(token, penalty, 0); }
  void add(std::int32_t token, float bias) { edit(token, 1, bias); }

  /// Error{kInvalidArgument} naming the first edit that no step can make: of a token that is outside of the vocabulary,
  /// or of a penalty or bias that makes no number of a logit.
  void check(std::int64_t vocabulary) const;
  /// Appends the edits to `all` as those of `row`, sorted and unique, and forgets them.
  void move_to(std::int32_t row, std::vector<ops::LogitEdit>& all);
  void clear() { edits_.clear(); }

 private:
  void edit(std::int32_t token, float penalty, float bias) { edits_.push_back({0, token, penalty, bias}); }

  std::vector<ops::LogitEdit> edits_;
};

/// Changes a few logits of a hypothesis' next token, before the softmax. Belongs to one loop, so it may keep scratch
/// memory; the edits may depend on the arguments only.
class LogitsProcessor {
 public:
  virtual ~LogitsProcessor();
  virtual void apply(const SentenceState& state, const LiveHypothesis& hypothesis, RowEdits& edits) = 0;
};

using LogitsProcessors = std::vector<std::unique_ptr<LogitsProcessor>>;

/// Those that the options ask for: minimum length, suppression, n-gram blocking, repetition penalty. None if they ask
/// for none.
LogitsProcessors make_processors(const DecodingOptions& options, const nn::SequenceSpec& spec);

}  // namespace dragoman::decoding

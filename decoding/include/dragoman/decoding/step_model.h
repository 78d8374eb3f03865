#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dragoman/nn/row_ref.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/ops/project_top_k.h>

namespace dragoman::decoding {

/// One step of any number of hypotheses, of any of the admitted sentences.
struct StepRequest {
  /// Row r continues row `parent` of the last step in its slot. A parent of -1 starts a hypothesis.
  std::span<const nn::RowRef> rows{};
  /// The tokens that row r appends to its history: at least one, more for a forced prefix. The first is the decoder
  /// start.
  tensor::RaggedTokens next{};
  /// The number of candidates per row, at most the vocabulary size. A row that needs fewer uses the first ones.
  std::int64_t candidates = 1;
  /// Empty, or one per row: the divisors of the logits.
  std::span<const double> temperatures{};
  /// Sorted by (row, token), unique.
  std::span<const ops::LogitEdit> edits{};
  /// Empty, or one per row: candidates are then ranked by log probability plus noise.
  std::span<const ops::RowNoise> noise{};
  /// Tokens whose log probabilities are required besides those of the candidates. Sorted by (row, token), unique.
  std::span<const ops::ScoredToken> scored{};
  /// The tokens that rows may choose from. `shortlist_of_row` is empty, or has a range of `shortlist` for each row. The
  /// softmax and the candidates are restricted to the range; forced tokens are not.
  std::span<const std::int32_t> shortlist{};
  std::span<const ops::ShortlistRange> shortlist_of_row{};
  bool alignment = false;
  /// Rows whose tokens and parents the model takes from the candidates of the last step, which may still be running.
  /// For these rows `next` has any token, and `parent` is any row of the sentence.
  std::span<const ops::NextRows> chosen{};
  /// If `chosen` is not empty: the log probability of the hypothesis of each row of the last step.
  std::span<const double> log_probabilities{};
};

/// The result of a step. The caller owns it and reuses its memory.
struct StepResult {
  /// [rows * candidates], best first within a row (log probability plus noise, descending; then token, ascending).
  std::vector<std::int32_t> tokens{};
  std::vector<double> log_probabilities{};
  /// One per scored token, under the distribution of the candidates. Empty if the model does not support this; searches
  /// that score tokens then do not work with the model.
  std::vector<double> scored_log_probabilities{};
  /// [T]: the model's own log probability (no edits, temperature 1) of token t of `next` given its predecessors in the
  /// row. 0 for the first token of a row, whose probability an earlier step has returned.
  std::vector<double> forced_log_probabilities{};
  /// If requested [T], otherwise empty: the source attention with which the successor of token t of `next` was
  /// predicted.
  std::vector<std::vector<float>> alignments{};
};

/// A step that was begun. If the result is not needed, destroy the object.
class PendingStep {
 public:
  virtual ~PendingStep();
  /// Waits for this step, but not for later ones. Call it at most once.
  virtual void finish(StepResult& result) = 0;
};

/// The interface through which searches use a model. The result of a row must depend on its own sentence and history
/// alone, not on other rows of the step: this makes every search batch-invariant. Not thread-safe. ModelStepper and
/// EnsembleStepper implement it. Tests and experiments implement it with a table of probabilities.
class StepModel {
 public:
  virtual ~StepModel();
  virtual const nn::SequenceSpec& spec() const = 0;
  /// Encodes the sources (each with its closing end), and writes the slots that they occupy until release().
  virtual void admit(const tensor::RaggedTokens& sources, std::span<std::int32_t> slots) = 0;
  virtual void release(std::int32_t slot) = 0;
  virtual void step(const StepRequest& request, StepResult& result) = 0;
  /// Returns whether begin() is supported: a device then computes a step while the host does other work.
  virtual bool runs_ahead() const { return false; }
  /// Begins a step of one token per row that requires candidates only (no edits, noise, scored tokens or alignment).
  /// Its sentences may be released while it runs. Returns nullptr if the model does not run ahead.
  virtual std::unique_ptr<PendingStep> begin(const StepRequest& request) {
    static_cast<void>(request);
    return nullptr;
  }
  /// Returns whether `StepRequest::alignment` is supported.
  virtual bool has_alignment() const { return false; }
  /// Return the memory in use by admitted sentences, and the estimate for one more. Both are 0 if memory is not
  /// limited.
  virtual std::size_t bytes_in_use() const { return 0; }
  virtual std::size_t expected_bytes(std::int64_t source_tokens, std::int64_t target_tokens) const {
    static_cast<void>(source_tokens), static_cast<void>(target_tokens);
    return 0;
  }
};

}  // namespace dragoman::decoding

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <dragoman/nn/row_ref.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/ops/project_top_k.h>

namespace dragoman::decoding {

/// One step of any number of hypotheses of any of the admitted sentences.
struct StepRequest {
  /// Row r continues row `parent` of the last step (-1: nothing precedes it) in its slot.
  std::span<const nn::RowRef> rows{};
  /// What row r appends to its history: at least one token, more for a forced prefix. The first is the decoder start.
  tensor::RaggedTokens next{};
  /// Candidates wanted per row, at most the vocabulary. A row that needs fewer looks at the first of them only.
  std::int64_t candidates = 1;
  /// Empty, or one per row: what logits are divided by.
  std::span<const double> temperatures{};
  /// Sorted by (row, token), unique.
  std::span<const ops::LogitEdit> edits{};
  /// Empty, or one per row: candidates are then ranked by log probability plus noise, where it is drawn.
  std::span<const ops::RowNoise> noise{};
  /// Tokens whose log probabilities are wanted besides those of the candidates. Sorted by (row, token), unique.
  std::span<const ops::ScoredToken> scored{};
  /// The tokens that rows may choose from. `shortlist_of_row` is empty, or has a range of `shortlist` for each row. The
  /// softmax and the candidates are restricted to them; forced tokens are not.
  std::span<const std::int32_t> shortlist{};
  std::span<const ops::ShortlistRange> shortlist_of_row{};
  bool alignment = false;
  /// Rows whose tokens and parents the model takes from the candidates of the last step, which was begun and may be
  /// under way; `next` has any token for them, and their `parent` is any row of the sentence.
  std::span<const ops::NextRows> chosen{};
  /// If there are some, for each row of the last step: the log probability of its hypothesis.
  std::span<const double> log_probabilities{};
};

/// The caller's memory, reused from step to step.
struct StepResult {
  /// [rows * candidates], per row best first (log probability plus noise, falling; token, rising).
  std::vector<std::int32_t> tokens{};
  std::vector<double> log_probabilities{};
  /// One for each wanted token, under the distribution of the candidates. Empty from a model that cannot tell: then no
  /// search that wants some works with it.
  std::vector<double> scored_log_probabilities{};
  /// [T]: the model's own (no edits, temperature 1) log probability of token t of `next` given what precedes it in its
  /// row; 0 for the first token of a row, whose probability an earlier step has told.
  std::vector<double> forced_log_probabilities{};
  /// On request [T], else empty: source attention with which the successor of token t of `next` was predicted.
  std::vector<std::vector<float>> alignments{};
};

/// A step that was begun. Whoever does not want its result drops it.
class PendingStep {
 public:
  virtual ~PendingStep();
  /// Waits for this step, and for none that was begun later. Once.
  virtual void finish(StepResult& result) = 0;
};

/// What a search needs of a model; searches know no more. Each row's result must depend on its own sentence and history
/// alone, not on what other rows are in the step: then every search is batch-invariant. One thread at a time.
class StepModel {
 public:
  virtual ~StepModel();
  virtual const nn::SequenceSpec& spec() const = 0;
  /// Encodes the sources (each with its closing end) and writes the slots they live in until release().
  virtual void admit(const tensor::RaggedTokens& sources, std::span<std::int32_t> slots) = 0;
  virtual void release(std::int32_t slot) = 0;
  virtual void step(const StepRequest& request, StepResult& result) = 0;
  /// Whether steps can be begun: a device computes them while the host does something else.
  virtual bool runs_ahead() const { return false; }
  /// A step of one token for each row, which wants candidates only (no edits, noise, wanted tokens, alignment). Its
  /// sentences may be released while it is under way. nullptr from a model that does not run ahead.
  virtual std::unique_ptr<PendingStep> begin(const StepRequest& request) {
    static_cast<void>(request);
    return nullptr;
  }
  /// Whether `StepRequest::alignment` can be had.
  virtual bool has_alignment() const { return false; }
  /// Memory held for admitted sentences, and what one more would take about; both 0 if memory is of no concern.
  virtual std::size_t bytes_in_use() const { return 0; }
  virtual std::size_t expected_bytes(std::int64_t source_tokens, std::int64_t target_tokens) const {
    static_cast<void>(source_tokens), static_cast<void>(target_tokens);
    return 0;
  }
};

}  // namespace dragoman::decoding

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/pipeline/scorer.h>

namespace dragoman::pipeline {

/// A line of `translate --format jsonl`, as far as reranking is concerned. Everything else of it is kept.
struct NBestLine {
  core::Json record;  ///< the whole object
  std::string source;
  std::vector<std::string> translations;
  std::vector<double> scores;  ///< that the list has: one for each translation
  bool cut = false;            ///< with LongLines::kCut, whether a model scored less than the whole of a translation
  std::string error{};         ///< with LongLines::kSkip, the reason why the list was not ranked; otherwise empty

  /// False of what has no list: a line that failed, or was translated in parts, or has nothing to translate.
  bool can_be_ranked() const noexcept { return !translations.empty(); }
};

/// Error{kBadInput} naming `where` and what is wrong: not an object, or a list without source, translation or score. A
/// line with one translation and no list counts as a list of one.
NBestLine read_n_best_line(std::string_view line, const std::string& where);

/// A model that scores each translation, and what its score is multiplied by.
struct RerankModel {
  Model model;
  double weight = 1;
  /// Of the other direction: how probable it finds the source, given the translation.
  bool reverse = false;
  /// What its scores are called.
  std::string name() const { return (reverse ? "reverse " : "") + model.path().string(); }
};

struct RerankOptions {
  std::vector<RerankModel> models{};
  /// Of the scores that the lists have.
  double list_weight = 1;
  /// How a model's score follows from the log probability.
  ScorerOptions scorer{};
};

/// Sorts n-best lists by the weighted sum of the scores of several models, found by forced decoding:
///
///     rerank_score = list_weight * score + sum_i weight_i * score_i
class Reranker {
 public:
  /// Error{kInvalidArgument} without a model; else throws as Scorer.
  explicit Reranker(const RerankOptions& options);
  ~Reranker();
  Reranker(Reranker&&) noexcept;
  Reranker& operator=(Reranker&&) noexcept;

  /// Puts each line's best translation first: the record's `n_best` is sorted, each entry gets `rerank_score` and
  /// `rerank_parts` (the scores that it is the sum of, not multiplied: `list`, and each model's by its name), and what
  /// the record says of its translation becomes that of the best. Of equally good ones that stay first which were.
  /// A line with a translation that a model cannot read is treated by ScorerOptions::long_lines: with kSkip the list
  /// stays as it is, and the record gets `rerank_error`.
  void rerank(std::span<NBestLine> lines, std::span<const std::string> where, const std::stop_token& stop = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline

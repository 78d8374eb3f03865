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

/// The parts of a line of `translate --format jsonl` that reranking uses. All other parts are kept.
struct NBestLine {
  core::Json record;  ///< the whole object
  std::string source;
  std::vector<std::string> translations;
  std::vector<double> scores;  ///< the scores in the list, one per translation
  bool cut = false;            ///< with LongLines::kCut, whether a model scored only a part of a translation
  std::string error{};         ///< with LongLines::kSkip, the reason why the list was not ranked; otherwise empty

  /// Returns whether the line has a list. It has none if it failed, was translated in parts, or has nothing to
  /// translate.
  bool can_be_ranked() const noexcept { return !translations.empty(); }
};

/// Parses a line. A line with one translation and no list becomes a list of one. Error{kBadInput} naming `where` and
/// the problem: not an object, or a list without source, translation or score.
NBestLine read_n_best_line(std::string_view line, const std::string& where);

/// A model that scores each translation, and the weight of its score.
struct RerankModel {
  Model model;
  double weight = 1;
  /// Whether the model translates in the opposite direction. It then scores the source given the translation.
  bool reverse = false;
  /// Returns the name of its scores.
  std::string name() const { return (reverse ? "reverse " : "") + model.path().string(); }
};

struct RerankOptions {
  std::vector<RerankModel> models{};
  /// The weight of the scores in the lists.
  double list_weight = 1;
  /// How the score of a model follows from the log probability.
  ScorerOptions scorer{};
};

/// Sorts n-best lists by a weighted sum of the scores of several models, computed by forced decoding:
///
///     rerank_score = list_weight * score + sum_i weight_i * score_i
///
/// The lines come from read_n_best_line():
///
///     Reranker reranker({.models = {{.model = Model("models/en-de"), .reverse = true}}});
///     const std::string text = core::read_file("translations.jsonl");      // one line; core/file.h
///     std::vector<NBestLine> lines{read_n_best_line(text, "translations.jsonl: line 1")};
///     reranker.rerank(lines, std::vector<std::string>{"translations.jsonl: line 1"});
///     std::cout << core::one_line(lines.front().record) << '\n';
///
/// Calls from any number of threads share the models' workers.
class Reranker {
 public:
  /// Error{kInvalidArgument} without a model; otherwise throws as Scorer.
  explicit Reranker(const RerankOptions& options);
  ~Reranker();
  Reranker(Reranker&&) noexcept;
  Reranker& operator=(Reranker&&) noexcept;

  /// Sorts the list of each line, best translation first, and updates the record:
  /// - `n_best` is sorted. The sort is stable.
  /// - Each entry gets `rerank_score`, and `rerank_parts` with the unweighted terms of the sum: `list`, and one per
  ///   model, by name.
  /// - The fields about the record's translation are those of the best entry.
  /// ScorerOptions::long_lines applies to a line with a translation that is too long for a model. With kSkip, the list
  /// is unchanged and the record gets `rerank_error`.
  /// Error{kBadInput} that names the line for a weighted sum that is not finite.
  void rerank(std::span<NBestLine> lines, std::span<const std::string> where, const std::stop_token& stop = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dragoman::pipeline

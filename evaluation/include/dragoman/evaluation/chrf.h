#pragma once

#include <span>
#include <string>
#include <vector>

#include <dragoman/evaluation/metric.h>

namespace dragoman::evaluation {

/// The options of chrF, with the defaults of sacreBLEU.
struct ChrfOptions {
  int char_order = 6;       ///< longest character n-gram, 0 to 32
  int word_order = 0;       ///< longest word n-gram, 0 to 32; 2 selects chrF++
  int beta = 2;             ///< weight of recall over precision, 1 to 100
  bool lowercase = false;   ///< full Unicode lower-casing
  bool whitespace = false;  ///< whether whitespace counts as characters
  /// Average the F-scores of all orders, instead of precision and recall of the orders that occur.
  bool eps_smoothing = false;
};

/// chrF (Popović, WMT 2015) and chrF++ (Popović, WMT 2017) as sacreBLEU computes them. With several references, the one
/// with the best F-score counts.
///
///     const std::vector<std::string> hypotheses{"The cat sat on the mat."};
///     const std::vector<std::vector<std::string>> references{{"The cat sat on a mat."}};
///     std::cout << corpus_chrf(hypotheses, references, {.word_order = 2}).text();     // chrF2++|...
///
/// Immutable and thread-safe, like every Metric.
///
/// Statistics: for each order, characters before words, {hypothesis n-grams, reference n-grams, matches}.
class Chrf final : public Metric {
 public:
  /// Throws Error{kInvalidArgument} if an option is out of range.
  explicit Chrf(const ChrfOptions& options = {});
  std::string name() const override;
  std::size_t statistics_size() const override;
  void count_segment(std::string_view hypothesis, std::span<const std::string_view> references,
                     std::span<double> statistics) const override;
  std::vector<double> pairwise(std::span<const std::string> texts) const override;
  double value(std::span<const double> statistics) const override;
  std::string signature_fields() const override;

 private:
  int orders() const { return options_.char_order + options_.word_order; }

  ChrfOptions options_;
};

/// Returns the chrF score of a text. Arguments and errors are as for corpus_score().
Score corpus_chrf(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
                  const ChrfOptions& options = {});

}  // namespace dragoman::evaluation

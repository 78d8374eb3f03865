#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/evaluation/metric.h>

namespace dragoman::evaluation {

/// The options of TER, with the defaults of sacreBLEU.
struct TerOptions {
  bool normalized = false;      ///< separate punctuation and resolve XML entities, as Tercom's normaliser does
  bool no_punct = false;        ///< remove . , ? : ; ! " ( and )
  bool asian_support = false;   ///< extend `normalized` and `no_punct` to CJK characters and punctuation
  bool case_sensitive = false;  ///< otherwise both sides are lower-cased
};

/// Returns the words of one segment (valid UTF-8) after Tercom's normalisation. Thread-safe.
std::vector<std::string> tokenize_for_ter(std::string_view segment, const TerOptions& options);

/// Translation edit rate (Snover et al., AMTA 2006) as sacreBLEU and Tercom compute it. Edits are insertions,
/// deletions, substitutions and shifts of phrases; they are found by greedy search within Tercom's limits.
///
///     const std::vector<std::string> hypotheses{"The cat sat on the mat."};
///     const std::vector<std::vector<std::string>> references{{"The cat sat on a mat."}};
///     std::cout << corpus_ter(hypotheses, references).text();     // TER|...
///
/// Immutable and thread-safe, like every Metric.
///
/// Statistics: the smallest number of edits to any reference, the mean reference length.
class Ter final : public Metric {
 public:
  explicit Ter(const TerOptions& options = {}) : options_(options) {}
  std::string name() const override { return "TER"; }
  bool higher_is_better() const override { return false; }
  std::size_t statistics_size() const override { return 2; }
  void count_segment(std::string_view hypothesis, std::span<const std::string_view> references,
                     std::span<double> statistics) const override;
  double value(std::span<const double> statistics) const override;
  std::string signature_fields() const override;

 private:
  TerOptions options_;
};

/// Returns the TER score of a text. Arguments and errors are as for corpus_score().
Score corpus_ter(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
                 const TerOptions& options = {});

}  // namespace dragoman::evaluation

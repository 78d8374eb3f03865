#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/evaluation/bleu_tokenizer.h>
#include <dragoman/evaluation/metric.h>

namespace dragoman::evaluation {

/// The smoothing of an n-gram order without a match (Chen and Cherry, WMT 2014).
enum class BleuSmoothing {
  kNone,         ///< not at all: the score is 0
  kFloor,        ///< the smoothing value replaces the number of matches
  kAddK,         ///< the smoothing value is added to matches and totals of every order above 1, with or without matches
  kExponential,  ///< 1/2, 1/4, 1/8, ... matches for the first, second, ... such order (mteval-v13a)
};

/// A custom tokenizer for BLEU, such as a SentencePiece model.
struct OtherBleuTokenizer {
  /// The name in signatures: "flores200".
  std::string name{};
  /// Returns the tokens of a segment, separated by spaces. Called from any thread.
  std::function<std::string(std::string_view segment)> separate{};
};

/// The options of BLEU, with the defaults of sacreBLEU.
struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::k13a;
  OtherBleuTokenizer other_tokenizer{};  ///< replaces `tokenizer` if it is set
  BleuSmoothing smoothing = BleuSmoothing::kExponential;
  std::optional<double> smoothing_value = std::nullopt;  ///< for kFloor (default 0.1) and kAddK (default 1)
  bool lowercase = false;                                ///< full Unicode lower-casing before tokenisation
  /// Whether to omit the orders for which the hypothesis is too short. Meant for single sentences.
  bool effective_order = false;
  int max_order = 4;  ///< 1 to 16
};

/// The factors of a BLEU score.
struct BleuParts {
  double score = 0;                ///< 0 to 100
  double brevity_penalty = 0;      ///< 0 to 1
  std::vector<double> precisions;  ///< of each order, 0 to 100, with smoothing
};

/// BLEU (Papineni et al., ACL 2002) as sacreBLEU computes it (Post, WMT 2018).
///
///     const std::vector<std::string> hypotheses{"The cat sat on the mat."};
///     const std::vector<std::vector<std::string>> references{{"The cat sat on the mat."}};
///     corpus_bleu(hypotheses, references).value;    // 100
///
/// Immutable and thread-safe, like every Metric.
///
/// Statistics: hypothesis length, length of the closest reference, matches [max_order], totals [max_order].
class Bleu final : public Metric {
 public:
  /// Throws Error{kInvalidArgument} if an option is out of range.
  explicit Bleu(const BleuOptions& options = {});
  std::string name() const override { return "BLEU"; }
  std::size_t statistics_size() const override;
  void count_segment(std::string_view hypothesis, std::span<const std::string_view> references,
                     std::span<double> statistics) const override;
  std::vector<double> pairwise(std::span<const std::string> texts) const override;
  double value(std::span<const double> statistics) const override;
  /// Returns value() with its factors.
  BleuParts parts(std::span<const double> statistics) const;
  std::string details(std::span<const double> statistics) const override;
  std::string signature_fields() const override;

 private:
  double smoothing_value() const;
  std::string tokenised(std::string_view text) const;

  BleuOptions options_;
};

/// Returns the BLEU score of a text. Arguments and errors are as for corpus_score().
Score corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
                  const BleuOptions& options = {});

}  // namespace dragoman::evaluation

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/evaluation/score.h>

namespace dragoman::evaluation {

/// A metric is two pure functions: from a segment to counts, and from (sums of) counts to a score. Immutable, so any
/// number of threads may use one object.
class Metric {
 public:
  virtual ~Metric();
  virtual std::string name() const = 0;
  /// Whether a larger score is a better one.
  virtual bool higher_is_better() const { return true; }
  /// Numbers of a segment: the length of the spans below.
  virtual std::size_t statistics_size() const = 0;
  /// Stores the counts of one segment. Texts are valid UTF-8, and there is at least one reference.
  virtual void count_segment(std::string_view hypothesis, std::span<const std::string_view> references,
                             std::span<double> statistics) const = 0;
  /// The score of each text with each one as its only reference, [texts, texts]: row i has text i as hypothesis, and
  /// the bits of sentence_score(). Texts are valid UTF-8. BLEU and chrF take n-grams of each text once.
  virtual std::vector<double> pairwise(std::span<const std::string> texts) const;
  /// The score of a text whose segments' counts sum to `statistics`.
  virtual double value(std::span<const double> statistics) const = 0;
  /// Score::details for such a text.
  virtual std::string details(std::span<const double> statistics) const;
  /// The metric's own part of the signature: "case:mixed|eff:no|tok:13a|smooth:exp".
  virtual std::string signature_fields() const = 0;

 protected:
  Metric() = default;
  Metric(const Metric&) = default;
  Metric& operator=(const Metric&) = default;
};

/// Counts of every segment of a text, [segments, statistics_size]. Rows may be summed in any selection: that is what
/// makes resampling cheap. All counts are integers (exact sums), but for TER's mean reference length with several
/// references.
class SegmentStatistics {
 public:
  SegmentStatistics(std::size_t segments, std::size_t width, std::size_t reference_count)
      : segments_(segments), width_(width), reference_count_(reference_count), counts_(segments * width) {}

  std::size_t segments() const noexcept { return segments_; }
  std::size_t width() const noexcept { return width_; }
  /// References per segment, which the signature names.
  std::size_t reference_count() const noexcept { return reference_count_; }
  std::span<double> row(std::size_t segment) { return std::span(counts_).subspan(segment * width_, width_); }
  std::span<const double> row(std::size_t segment) const {
    return std::span(counts_).subspan(segment * width_, width_);
  }
  /// The counts of the whole text, [statistics_size].
  std::vector<double> sum() const;

 private:
  std::size_t segments_;
  std::size_t width_;
  std::size_t reference_count_;
  std::vector<double> counts_;
};

/// Bootstrap resampling (Koehn, "Statistical Significance Tests for Machine Translation Evaluation", EMNLP 2004).
/// The draws are those of numpy.random.default_rng(seed).choice(), as sacreBLEU makes them, so means and intervals are
/// its own for the same seed, and the same on every machine.
struct BootstrapOptions {
  std::uint32_t samples = 1000;
  std::uint64_t seed = 12345;
};

/// Counts a text. `references` are streams, each as long as `hypotheses`: references[r][i] belongs to hypotheses[i].
/// Ill-formed UTF-8 is read as U+FFFD. Throws Error{kInvalidArgument} on no segments, no references, or lengths that
/// differ.
SegmentStatistics count_segments(const Metric& metric, std::span<const std::string> hypotheses,
                                 std::span<const std::vector<std::string>> references);

/// The score of counted segments, with a confidence interval if `bootstrap` is given.
Score score_segments(const Metric& metric, const SegmentStatistics& statistics,
                     const std::optional<BootstrapOptions>& bootstrap = std::nullopt);

/// count_segments, then score_segments.
Score corpus_score(const Metric& metric, std::span<const std::string> hypotheses,
                   std::span<const std::vector<std::string>> references,
                   const std::optional<BootstrapOptions>& bootstrap = std::nullopt);

/// The score of one segment. For BLEU, turn effective_order on.
Score sentence_score(const Metric& metric, const std::string& hypothesis, std::span<const std::string> references);

}  // namespace dragoman::evaluation

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/evaluation/score.h>

namespace dragoman::evaluation {

/// An evaluation metric, defined by two pure functions: one from a segment to statistics, and one from summed
/// statistics to a score. Objects are immutable, so any number of threads may share one. Within a core::StopScope, a
/// stop request ends their functions with Error{kInterrupted}. The functions below open such a scope for their token.
///
///     const Bleu bleu;                                              // bleu.h
///     const Metric& metric = bleu;
///     const std::vector<std::string> hypotheses{"The cat sat on the mat."};
///     const std::vector<std::vector<std::string>> references{{"The cat sat on a mat."}};
///     const Score score = corpus_score(metric, hypotheses, references, BootstrapOptions{.samples = 100});
///     std::cout << score.text() << '\n';
class Metric {
 public:
  virtual ~Metric();
  virtual std::string name() const = 0;
  /// Returns whether a larger score is better.
  virtual bool higher_is_better() const { return true; }
  /// Returns the number of statistics of a segment, which is the length of the spans below.
  virtual std::size_t statistics_size() const = 0;
  /// Stores the statistics of one segment. The texts must be valid UTF-8, and there must be at least one reference.
  virtual void count_segment(std::string_view hypothesis, std::span<const std::string_view> references,
                             std::span<double> statistics) const = 0;
  /// Returns the score of each text with each one as its only reference, [texts, texts]. In row i, text i is the
  /// hypothesis. The scores have the same bits as those of sentence_score(). The texts must be valid UTF-8. BLEU and
  /// chrF extract the n-grams of each text only once.
  virtual std::vector<double> pairwise(std::span<const std::string> texts) const;
  /// Returns the score of a text whose segments' statistics sum to `statistics`.
  virtual double value(std::span<const double> statistics) const = 0;
  /// Returns Score::details for such a text.
  virtual std::string details(std::span<const double> statistics) const;
  /// Returns the metric's own part of the signature: "case:mixed|eff:no|tok:13a|smooth:exp".
  virtual std::string signature_fields() const = 0;

 protected:
  Metric() = default;
  Metric(const Metric&) = default;
  Metric& operator=(const Metric&) = default;
};

/// The statistics of every segment of a text, [segments, statistics_size]. Any selection of rows may be summed, which
/// makes resampling cheap. All statistics are integers, so sums are exact. The exception is TER's mean reference length
/// with several references.
class SegmentStatistics {
 public:
  SegmentStatistics(std::size_t segments, std::size_t width, std::size_t reference_count)
      : segments_(segments), width_(width), reference_count_(reference_count), counts_(segments * width) {}

  std::size_t segments() const noexcept { return segments_; }
  std::size_t width() const noexcept { return width_; }
  /// Returns the number of references per segment, which is part of the signature.
  std::size_t reference_count() const noexcept { return reference_count_; }
  std::span<double> row(std::size_t segment) { return std::span(counts_).subspan(segment * width_, width_); }
  std::span<const double> row(std::size_t segment) const {
    return std::span(counts_).subspan(segment * width_, width_);
  }
  /// Appends a segment whose statistics are 0 and returns them. Spans of other rows become invalid.
  std::span<double> add_row() {
    counts_.resize(counts_.size() + width_);
    return row(segments_++);
  }
  /// Returns the statistics of the whole text, [statistics_size].
  std::vector<double> sum() const;

 private:
  std::size_t segments_;
  std::size_t width_;
  std::size_t reference_count_;
  std::vector<double> counts_;
};

/// Options of bootstrap resampling (Koehn, "Statistical Significance Tests for Machine Translation Evaluation", EMNLP
/// 2004). Like sacreBLEU, it draws with numpy.random.default_rng(seed).choice(). For the same seed, means and intervals
/// are therefore equal to sacreBLEU's on every machine.
struct BootstrapOptions {
  std::uint32_t samples = 1000;
  std::uint64_t seed = 12345;
};

/// Computes the statistics of a text. `references` are streams with the length of `hypotheses`: references[r][i]
/// belongs to hypotheses[i]. Ill-formed UTF-8 is read as U+FFFD. Throws Error{kInvalidArgument} if there are no
/// segments or no references, or if lengths differ. A stop request ends this function, and those below, with
/// Error{kInterrupted}.
SegmentStatistics count_segments(const Metric& metric, std::span<const std::string> hypotheses,
                                 std::span<const std::vector<std::string>> references,
                                 const std::stop_token& stop = {});

/// Returns the score of segments, with a confidence interval if `bootstrap` is given.
Score score_segments(const Metric& metric, const SegmentStatistics& statistics,
                     const std::optional<BootstrapOptions>& bootstrap = std::nullopt, const std::stop_token& stop = {});

/// Returns the score of a text: count_segments(), then score_segments().
Score corpus_score(const Metric& metric, std::span<const std::string> hypotheses,
                   std::span<const std::vector<std::string>> references,
                   const std::optional<BootstrapOptions>& bootstrap = std::nullopt, const std::stop_token& stop = {});

/// Returns the score of one segment. For BLEU, set BleuOptions::effective_order.
Score sentence_score(const Metric& metric, const std::string& hypothesis, std::span<const std::string> references,
                     const std::stop_token& stop = {});

}  // namespace dragoman::evaluation

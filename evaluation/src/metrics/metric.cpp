#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/core/utf8.h>
#include <dragoman/evaluation/bootstrap.h>
#include <dragoman/evaluation/metric.h>
#include <dragoman/evaluation/significance.h>

namespace dragoman::evaluation {
namespace {

/// A view of the text itself if it is well-formed, otherwise of a repaired copy.
class ValidText {
 public:
  explicit ValidText(const std::string& text) : view_(text) {
    if (core::find_invalid_utf8(text) == std::string::npos) return;
    repaired_ = text;
    core::replace_invalid_utf8(repaired_);
    view_ = repaired_;
  }
  ValidText(const ValidText&) = delete;
  ValidText& operator=(const ValidText&) = delete;
  std::string_view view() const { return view_; }

 private:
  std::string repaired_;
  std::string_view view_;
};

void check_lengths(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references) {
  core::require(!hypotheses.empty(), core::ErrorCode::kInvalidArgument, "there are no hypotheses to evaluate");
  core::require(!references.empty(), core::ErrorCode::kInvalidArgument, "there are no references to evaluate against");
  for (std::size_t r = 0; r < references.size(); ++r)
    core::require(
        references[r].size() == hypotheses.size(), core::ErrorCode::kInvalidArgument,
        "{} hypotheses cannot be evaluated against the {} segments of reference {}; both must have the same number",
        hypotheses.size(), references[r].size(), r + 1);
}

/// `resampling` is "bs:1000|seed:12345|" or empty.
std::string full_signature(const Metric& metric, std::size_t references, const std::string& resampling) {
  return fmt::format("nrefs:{}|{}{}|version:dragoman.{}", references, resampling, metric.signature_fields(),
                     DRAGOMAN_VERSION);
}

std::string resampling_field(const std::optional<BootstrapOptions>& bootstrap) {
  return bootstrap ? fmt::format("bs:{}|seed:{}|", bootstrap->samples, bootstrap->seed) : "";
}

}  // namespace

Metric::~Metric() = default;

std::string Metric::details(std::span<const double>) const {
  return {};
}

std::vector<double> SegmentStatistics::sum() const {
  std::vector<double> total(width_);
  for (std::size_t i = 0; i < counts_.size(); ++i) total[i % width_] += counts_[i];
  return total;
}

std::vector<double> Metric::pairwise(std::span<const std::string> texts) const {
  std::vector<double> scores;
  std::vector<double> statistics(statistics_size());
  for (const std::string& hypothesis : texts)
    for (const std::string& text : texts) {
      core::check_stop("comparing texts");
      const std::string_view reference = text;
      count_segment(hypothesis, {&reference, 1}, statistics);
      scores.push_back(value(statistics));
    }
  return scores;
}

namespace {

/// Counts segment `i` of the streams into its row.
void count_one(const Metric& metric, const std::string& hypothesis,
               std::span<const std::vector<std::string>> references, std::size_t i, SegmentStatistics& statistics) {
  const ValidText valid_hypothesis(hypothesis);
  std::vector<std::unique_ptr<ValidText>> texts;
  std::vector<std::string_view> views;
  for (const auto& stream : references)
    views.push_back(texts.emplace_back(std::make_unique<ValidText>(stream[i]))->view());
  metric.count_segment(valid_hypothesis.view(), views, statistics.row(i));
}

}  // namespace

SegmentStatistics count_segments(const Metric& metric, std::span<const std::string> hypotheses,
                                 std::span<const std::vector<std::string>> references, const std::stop_token& stop) {
  const core::StopScope scope(stop);
  check_lengths(hypotheses, references);
  SegmentStatistics statistics(hypotheses.size(), metric.statistics_size(), references.size());
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    core::check_stop("scoring segments");
    try {
      count_one(metric, hypotheses[i], references, i, statistics);
    } catch (const core::Error& error) {
      if (error.code() == core::ErrorCode::kInterrupted) throw;
      core::fail(error.code(), "line {}: {}", i + 1, error.what());
    }
  }
  return statistics;
}

Score score_segments(const Metric& metric, const SegmentStatistics& statistics,
                     const std::optional<BootstrapOptions>& bootstrap, const std::stop_token& stop) {
  const std::vector<double> sum = statistics.sum();
  Score score{.name = metric.name(),
              .value = metric.value(sum),
              .signature = full_signature(metric, statistics.reference_count(), resampling_field(bootstrap)),
              .details = metric.details(sum),
              .confidence = std::nullopt};
  if (bootstrap) score.confidence = confidence_interval(bootstrap_values(metric, statistics, *bootstrap, stop));
  return score;
}

std::string paired_signature(const Metric& metric, std::size_t references,
                             const std::optional<PairedOptions>& options) {
  if (!options) return full_signature(metric, references, "");
  return full_signature(metric, references,
                        fmt::format("{}:{}|seed:{}|", options->test == PairedTest::kBootstrap ? "bs" : "ar",
                                    options->samples, options->seed));
}

Score corpus_score(const Metric& metric, std::span<const std::string> hypotheses,
                   std::span<const std::vector<std::string>> references,
                   const std::optional<BootstrapOptions>& bootstrap, const std::stop_token& stop) {
  return score_segments(metric, count_segments(metric, hypotheses, references, stop), bootstrap, stop);
}

Score sentence_score(const Metric& metric, const std::string& hypothesis, std::span<const std::string> references,
                     const std::stop_token& stop) {
  const core::StopScope scope(stop);
  core::check_stop("scoring a segment");
  std::vector<std::vector<std::string>> streams;
  for (const std::string& reference : references) streams.push_back({reference});
  check_lengths({&hypothesis, 1}, streams);
  SegmentStatistics statistics(1, metric.statistics_size(), streams.size());
  count_one(metric, hypothesis, streams, 0, statistics);  // an error names no line: the caller knows which it is
  return score_segments(metric, statistics, std::nullopt);
}

}  // namespace dragoman::evaluation

#include "commands/evaluation/segment_counting.h"

#include <algorithm>
#include <string_view>

#include <dragoman/core/error.h>
#include <dragoman/core/stop_scope.h>

namespace dragoman::cli {
namespace {

using evaluation::Metric;
using evaluation::SegmentStatistics;

/// The most memory for the statistics of single lines.
constexpr std::size_t kMaxKeptBytes = std::size_t{1} << 30;

void add_to(SegmentStatistics& kept, KeptStatistics which, std::span<const double> counts) {
  const std::span<double> row = which == KeptStatistics::kSums && kept.segments() > 0 ? kept.row(0) : kept.add_row();
  for (std::size_t i = 0; i < row.size(); ++i) row[i] += counts[i];
}

/// Counts one line; an error names the line.
void count_line(const Metric& metric, const evaluation::ParallelTextReader& texts, std::size_t system,
                std::span<const std::string_view> references, std::vector<double>& counts) {
  counts.assign(metric.statistics_size(), 0);
  try {
    metric.count_segment(texts.lines()[system], references, counts);
  } catch (const core::Error& error) {
    if (error.code() == core::ErrorCode::kInterrupted) throw;
    core::fail(error.code(), "line {}: {}", texts.line_number(), error.what());
  }
}

std::size_t bytes_of_line(const std::vector<std::unique_ptr<Metric>>& metrics, std::size_t systems) {
  std::size_t values = 0;
  for (const auto& metric : metrics) values += metric->statistics_size() * systems;
  return values * sizeof(double);
}

}  // namespace

CountedTexts count_texts(const std::vector<std::unique_ptr<Metric>>& metrics, evaluation::ParallelTextReader& texts,
                         std::size_t references, std::size_t systems, KeptStatistics kept,
                         const std::stop_token& stop) {
  const core::StopScope scope(stop);
  CountedTexts counted{.statistics = {}, .tokenized = std::vector<std::uint64_t>(systems)};
  for (const auto& metric : metrics)
    counted.statistics.emplace_back(systems, SegmentStatistics(0, metric->statistics_size(), references));
  const std::size_t each = bytes_of_line(metrics, systems);
  const std::uint64_t most_lines = kMaxKeptBytes / std::max<std::size_t>(each, 1);
  std::vector<double> counts;
  while (texts.next()) {
    core::check_stop("scoring segments");
    core::require(kept == KeptStatistics::kSums || texts.line_number() <= most_lines, core::ErrorCode::kBadInput,
                  "{}: resampling keeps {} bytes for each line, and has {} bytes for all lines, which is enough for {} "
                  "lines; give a part of the text, or fewer metrics or systems at a time",
                  texts.name(0), each, kMaxKeptBytes, most_lines);
    const auto lines = texts.lines();
    const std::vector<std::string_view> of_references(lines.begin() + 1,
                                                      lines.begin() + 1 + static_cast<std::ptrdiff_t>(references));
    for (std::size_t i = 0; i < systems; ++i) {
      const std::size_t file = i == 0 ? 0 : references + i;
      counted.tokenized[i] += lines[file].ends_with(" .") ? 1 : 0;
      for (std::size_t m = 0; m < metrics.size(); ++m) {
        count_line(*metrics[m], texts, file, of_references, counts);
        add_to(counted.statistics[m][i], kept, counts);
      }
    }
  }
  return counted;
}

}  // namespace dragoman::cli

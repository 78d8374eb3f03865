#include "commands/evaluation/system_comparison.h"

#include <algorithm>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>

namespace dragoman::cli {
namespace {

using evaluation::PairedResult;

/// The significance level that is marked with a star.
constexpr double kSignificant = 0.05;

struct Column {
  std::string name;
  std::string signature;
  std::vector<PairedResult> results{};  ///< one per system
};

Column score_column(const evaluation::Metric& metric, const std::vector<evaluation::SegmentStatistics>& systems,
                    std::size_t references, const ComparisonOptions& options, const std::stop_token& stop) {
  Column column{.name = metric.name(), .signature = paired_signature(metric, references, options.test)};
  if (options.test) {
    column.results = evaluation::paired_test(metric, systems, *options.test, stop);
    return column;
  }
  for (const auto& system : systems) column.results.push_back({.score = metric.value(system.sum())});
  return column;
}

std::string shown_name(const std::string& system, bool baseline) {
  return (baseline ? "Baseline: " : "") + system;
}

core::Json as_json(const std::vector<Column>& columns, const std::vector<std::string>& systems, bool tested) {
  core::Json list = core::Json::array();
  for (std::size_t i = 0; i < systems.size(); ++i) {
    core::Json item{{"system", shown_name(systems[i], tested && i == 0)}};
    for (const Column& column : columns) {
      const PairedResult& result = column.results[i];
      core::Json& of_metric = item[column.name];
      of_metric["score"] = result.score;
      if (tested) {
        of_metric["p_value"] = result.p_value ? core::Json(*result.p_value) : core::Json();
        of_metric["mean"] = result.confidence ? core::Json(result.confidence->mean) : core::Json();
        of_metric["ci"] = result.confidence ? core::Json(result.confidence->half_width) : core::Json();
      }
      of_metric["signature"] = column.signature;
    }
    list.push_back(std::move(item));
  }
  return list;
}

std::string cell(const PairedResult& result, int decimals, bool score_only) {
  std::string text = fmt::format("{:.{}f}", result.score, decimals);
  if (score_only) return text;
  if (result.confidence)
    text +=
        fmt::format(" ({:.{}f} ± {:.{}f})", result.confidence->mean, decimals, result.confidence->half_width, decimals);
  if (result.p_value)
    text += fmt::format(" (p = {:.4f}){}", *result.p_value, *result.p_value < kSignificant ? "*" : "");
  return text;
}

/// Returns the width of text whose characters are one column wide.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// Returns rows with aligned columns, separated by two spaces.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += row[i] + std::string(i + 1 < row.size() ? widths[i] - width_of(row[i]) + 2 : 0, ' ');
    text += line + "\n";
  }
  return text;
}

std::string as_text(const std::vector<Column>& columns, const std::vector<std::string>& systems,
                    const ComparisonOptions& options) {
  const bool tested = options.test.has_value();
  const bool bootstrap = tested && options.test->test == evaluation::PairedTest::kBootstrap;
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"System"});
  for (const Column& column : columns)
    rows.back().push_back(column.name + (bootstrap && !options.score_only ? " (μ ± 95% CI)" : ""));
  for (std::size_t i = 0; i < systems.size(); ++i) {
    constexpr std::size_t kLongestName = 200;
    rows.push_back({core::printable(shown_name(systems[i], tested && i == 0), kLongestName)});
    for (const Column& column : columns)
      rows.back().push_back(cell(column.results[i], options.decimals, options.score_only));
  }
  std::string text = table(rows);
  if (options.score_only) return text;
  if (tested) text += "\np: how likely so large a difference to the baseline is by chance; * below 0.05\n";
  text += "\n";
  for (const Column& column : columns) text += fmt::format("{}|{}\n", column.name, column.signature);
  return text;
}

}  // namespace

std::string compare_systems(const std::vector<std::unique_ptr<evaluation::Metric>>& metrics,
                            const std::vector<std::string>& names, const CountedTexts& counted, std::size_t references,
                            const ComparisonOptions& options, const std::stop_token& stop) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < metrics.size(); ++i)
    columns.push_back(score_column(*metrics[i], counted.statistics[i], references, options, stop));
  if (options.json)
    return as_json(columns, names, options.test.has_value()).dump(1, ' ', false, core::Json::error_handler_t::replace) +
           "\n";
  return as_text(columns, names, options);
}

}  // namespace dragoman::cli

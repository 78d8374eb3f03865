#pragma once

#include "commands/evaluation/segment_counting.h"

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/evaluation/significance.h>

namespace dragoman::cli {

struct ComparisonOptions {
  /// Unset: scores only.
  std::optional<evaluation::PairedOptions> test{};
  int decimals = 1;
  bool json = false;
  bool score_only = false;
};

/// Returns the output of `evaluate` for several systems, the first of which is the baseline: a table, or the JSON list
/// that sacreBLEU prints. A test needs the statistics of all segments. Error{kInterrupted} after a stop request.
std::string compare_systems(const std::vector<std::unique_ptr<evaluation::Metric>>& metrics,
                            const std::vector<std::string>& names, const CountedTexts& counted, std::size_t references,
                            const ComparisonOptions& options, const std::stop_token& stop);

}  // namespace dragoman::cli

#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/evaluation/significance.h>

namespace dragoman::cli {

/// Translations of one text by one system.
struct NamedSystem {
  std::string name;
  std::vector<std::string> lines;
};

struct ComparisonOptions {
  /// None: scores alone.
  std::optional<evaluation::PairedOptions> test{};
  int decimals = 1;
  bool json = false;
  bool score_only = false;
};

/// What `evaluate` prints of several systems, the first of which is the baseline: a table, or the list that sacreBLEU
/// prints as JSON. Error{kInterrupted} if `stop` asks.
std::string compare_systems(const std::vector<std::unique_ptr<evaluation::Metric>>& metrics,
                            const std::vector<NamedSystem>& systems,
                            const std::vector<std::vector<std::string>>& references, const ComparisonOptions& options,
                            const std::stop_token& stop);

}  // namespace dragoman::cli

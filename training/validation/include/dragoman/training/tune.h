#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <dragoman/core/json.h>
#include <dragoman/decoding/options.h>
#include <dragoman/evaluation/metric.h>
#include <dragoman/training/config.h>

namespace dragoman::training {

struct TuneTrial {
  /// In the form of a model folder.
  core::Json decoding;
  evaluation::Score score;
};

struct TuneResult {
  /// Ordered by beam size, then by alpha.
  std::vector<TuneTrial> trials;
  /// The first of the best trials. Unset if no score is a number.
  std::optional<std::size_t> best{};
};

/// Translates the whole text, line by line.
using TranslateText = std::function<std::vector<std::string>(const decoding::DecodingOptions&)>;

/// The metric of a tuning.
struct TuneMetric {
  /// Scores a translation of the whole text. A score that is NaN is never the best.
  std::function<evaluation::Score(const std::vector<std::string>&)> score;
  bool higher_is_better = true;
};

/// Returns the metric of a text. Both arguments must outlive the result.
///
///     const evaluation::Chrf chrf;                                          // evaluation/chrf.h
///     const std::vector<std::string> references{"Good morning!"};
///     const TuneMetric metric = tune_metric(chrf, references);
///     std::cout << metric.score({"Good morning!"}).value;                   // 100
TuneMetric tune_metric(const evaluation::Metric& metric, const std::vector<std::string>& references);

/// Tries `model_defaults` (decoding::read_model_defaults()) with all combinations of the settings. Error{kBadInput}
/// naming `where`, before anything is translated, if a combination is invalid. Only the decoder `beam` has settings to
/// tune.
TuneResult tune_decoding(const core::Json& model_defaults, const TuneConfig& config, const TuneMetric& metric,
                         const TranslateText& translate, const std::string& where);

/// Returns a description such as "beam_size 4, alpha 1.8: BLEU 38.06".
std::string describe(const TuneTrial& trial);

}  // namespace dragoman::training

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
  /// As a model's folder would have them.
  core::Json decoding;
  evaluation::Score score;
};

struct TuneResult {
  /// The sizes of the beam one after the other, with each alpha in turn.
  std::vector<TuneTrial> trials;
  /// Of equal ones the first; none if no score is a number.
  std::optional<std::size_t> best{};
};

/// Translates the whole text, line by line.
using TranslateText = std::function<std::vector<std::string>(const decoding::DecodingOptions&)>;

/// What decides.
struct TuneMetric {
  /// Of a translation of the whole text; one that is not a number is never the best.
  std::function<evaluation::Score(const std::vector<std::string>&)> score;
  bool higher_is_better = true;
};

/// Both must outlive the result.
TuneMetric tune_metric(const evaluation::Metric& metric, const std::vector<std::string>& references);

/// Tries `model_defaults` (decoding::read_model_defaults()) with all combinations of the settings. Error{kBadInput}
/// naming `where` if a combination makes no sense, before anything is translated: of a model whose decoder is not
/// `beam` nothing can be tuned.
TuneResult tune_decoding(const core::Json& model_defaults, const TuneConfig& config, const TuneMetric& metric,
                         const TranslateText& translate, const std::string& where);

/// "beam_size 4, alpha 1.8: BLEU 38.06"
std::string describe(const TuneTrial& trial);

}  // namespace dragoman::training

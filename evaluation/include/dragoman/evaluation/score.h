#pragma once

#include <optional>
#include <string>

namespace dragoman::evaluation {

/// The mean of bootstrap resamples, and half the width of the interval that holds 95 % of them.
struct Confidence {
  double mean = 0;
  double half_width = 0;
};

/// The score of a text, with everything that is needed to reproduce and to print it.
struct Score {
  std::string name = {};       ///< "BLEU", "chrF2", "chrF2++", "TER"
  double value = 0;            ///< 0 to 100; TER may exceed 100
  std::string signature = {};  ///< "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:dragoman.0.2.0"
  /// For BLEU: "66.1/41.2/28.0/19.5 (BP = 1.000 ratio = 1.002 hyp_len = 1204 ref_len = 1201)"; otherwise empty.
  std::string details;
  std::optional<Confidence> confidence = std::nullopt;

  /// Returns the value as sacreBLEU prints it: "34.5", or with confidence "34.5 (μ = 34.4 ± 1.2)".
  std::string number(int decimals = 1) const;
  /// Returns the line that sacreBLEU prints: "NAME|SIGNATURE = NUMBER DETAILS".
  std::string text(int decimals = 1) const;
};

}  // namespace dragoman::evaluation

#pragma once

#include <algorithm>
#include <cmath>

namespace dragoman::tokenizer {

/// Returns log(exp(a) + exp(b)).
inline double add_in_logs(double a, double b) {
  const double larger = std::max(a, b);
  return std::isfinite(larger) ? larger + std::log1p(std::exp(std::min(a, b) - larger)) : larger;
}

}  // namespace dragoman::tokenizer

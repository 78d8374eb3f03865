#pragma once

#include "dragoman/decoding/ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace dragoman::decoding {

inline constexpr double kNone = -std::numeric_limits<double>::infinity();

/// log sum exp; NaN if any value is NaN.
inline double log_sum_exp(std::span<const double> values) {
  const double most = *std::max_element(values.begin(), values.end());
  if (std::isinf(most) && most < 0) return kNone;
  double sum = 0;
  for (const double value : values) sum += std::exp(value - most);
  return most + std::log(sum);
}

/// Normalises logarithms of a distribution, so that the probabilities sum to 1.
inline void normalise(std::span<double> logarithms) {
  const double sum = log_sum_exp(logarithms);
  if (sum == kNone) return;  // nothing is allowed
  for (double& value : logarithms) value -= sum;
}

/// The mean of several models' probabilities of a token. `weights` sum to 1 and must outlive the object.
class WeightedMean {
 public:
  WeightedMean(EnsembleMean mean, std::span<const double> weights) : mean_(mean), weights_(weights) {
    for (const double weight : weights) log_weights_.push_back(std::log(weight));
  }
  double log_weight(std::size_t model) const { return log_weights_[model]; }
  /// Whether the mean of distributions is a distribution.
  bool is_normalised() const { return mean_ == EnsembleMean::kProbability; }
  /// Returns the mean of the models' log probabilities `terms`, which are overwritten.
  double combine(std::span<double> terms) const {
    for (std::size_t i = 0; i < terms.size(); ++i)
      terms[i] = is_normalised() ? log_weights_[i] + terms[i] : weights_[i] * terms[i];
    return is_normalised() ? log_sum_exp(terms) : std::accumulate(terms.begin(), terms.end(), 0.0);
  }

 private:
  EnsembleMean mean_;
  std::span<const double> weights_;
  std::vector<double> log_weights_;
};

}  // namespace dragoman::decoding

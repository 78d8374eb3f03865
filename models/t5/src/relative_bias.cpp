#include "dragoman/t5/relative_bias.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <dragoman/ops/matmul.h>

namespace dragoman::t5 {
namespace {

std::vector<double> selection_of(const RelativeBuckets& buckets) {
  const std::int64_t rows = 2 * buckets.farthest + 1;
  std::vector<double> table(static_cast<std::size_t>(rows * buckets.count));
  for (std::int64_t i = 0; i < rows; ++i)
    table[static_cast<std::size_t>(i * buckets.count + buckets.bucket(i - buckets.farthest))] = 1;
  return table;
}

}  // namespace

std::int64_t RelativeBuckets::bucket(std::int64_t distance) const {
  const std::int64_t side = bidirectional ? count / 2 : count;
  const std::int64_t first = bidirectional && distance > 0 ? side : 0;
  const std::int64_t apart = bidirectional ? std::abs(distance) : -std::min<std::int64_t>(distance, 0);
  const std::int64_t single = side / 2;
  if (apart < single) return first + apart;
  const float share = std::log(static_cast<float>(apart) / static_cast<float>(single)) /
                      static_cast<float>(std::log(static_cast<double>(farthest) / static_cast<double>(single)));
  const auto grown = static_cast<std::int64_t>(share * static_cast<float>(side - single));
  return first + std::min(single + grown, side - 1);
}

RelativeBias::RelativeBias(const nn::Scope& scope, const Config& config, bool bidirectional)
    : biases_(&scope.matrix("weight", config.relative_buckets, config.heads,
                            nn::Initialiser::normal(1 / std::sqrt(static_cast<double>(config.d_model))))),
      selection_(2 * config.relative_distance + 1, config.relative_buckets,
                 [buckets = RelativeBuckets{config.relative_buckets, config.relative_distance, bidirectional}] {
                   return selection_of(buckets);
                 }) {}

nn::Variable RelativeBias::operator()(nn::Context& context) const {
  return ops::matmul(context, {selection_.on(context), nullptr}, biases_->variable());
}

}  // namespace dragoman::t5

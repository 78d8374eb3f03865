#pragma once

#include <cstdint>

#include <dragoman/nn/constant.h>
#include <dragoman/nn/parameters.h>
#include <dragoman/t5/config.h>

namespace dragoman::t5 {

/// How the distances of keys from a query, key - query, fall into buckets (Raffel et al. 2020, sec. 2.1): one for each
/// of the near ones, then ones that grow with the logarithm, and one for `farthest` and beyond. Bidirectional, half of
/// them are for keys behind the query; else all keys there are of the query's own bucket. Computed in single precision,
/// in the order of transformers, since the borders depend on the rounding.
struct RelativeBuckets {
  std::int64_t count = 32;
  std::int64_t farthest = 128;
  bool bidirectional = true;

  std::int64_t bucket(std::int64_t distance) const;
};

/// Parameter `<scope>.weight` [buckets, heads]: a bias for each bucket and head.
class RelativeBias {
 public:
  RelativeBias(const nn::Scope& scope, const Config& config, bool bidirectional);
  /// The table that ops::attention() takes: a row for each distance up to the farthest, [2 * farthest + 1, heads].
  nn::Variable operator()(nn::Context& context) const;

 private:
  const nn::Parameter* biases_;
  nn::Constant selection_;  ///< row i has a 1 in the column of its distance's bucket
};

}  // namespace dragoman::t5

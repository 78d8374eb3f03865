#pragma once

#include <cstdint>

#include <dragoman/nn/constant.h>
#include <dragoman/nn/parameters.h>
#include <dragoman/t5/config.h>

namespace dragoman::t5 {

/// Maps the distance of a key from a query, key - query, to a bucket (Raffel et al. 2020, sec. 2.1). Near distances
/// have a bucket each. Further buckets grow logarithmically, and the last one holds `farthest` and beyond.
///
/// If `bidirectional`, half of the buckets are for keys after the query. Otherwise all keys after the query are in the
/// query's own bucket. Bucket borders depend on rounding, so they are computed in single precision in the order of
/// Hugging Face transformers.
struct RelativeBuckets {
  std::int64_t count = 32;
  std::int64_t farthest = 128;
  bool bidirectional = true;

  /// Returns the bucket of a distance, in [0, count).
  std::int64_t bucket(std::int64_t distance) const;
};

/// A bias for each bucket and head: parameter `<scope>.weight` [buckets, heads].
class RelativeBias {
 public:
  RelativeBias(const nn::Scope& scope, const Config& config, bool bidirectional);
  /// Returns the table for ops::attention(): one row for each distance up to the farthest, [2 * farthest + 1, heads].
  nn::Variable operator()(nn::Context& context) const;

 private:
  const nn::Parameter* biases_;
  nn::Constant selection_;  ///< row i is 1 in the column of its distance's bucket, and 0 elsewhere
};

}  // namespace dragoman::t5

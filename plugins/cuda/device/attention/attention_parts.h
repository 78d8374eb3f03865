#pragma once

#include "random.h"

#include <cmath>

/// Sequences and scores, as all attention kernels use them.
namespace dragoman::backend::cuda::device {

SIMT_DEVICE int lane() {
  return simt::thread_index() % kWarp;
}

/// Returns the sequence of a row in `offsets`: the last non-empty sequence that begins at or before it.
SIMT_DEVICE std::int64_t sequence_of(const Ids& offsets, std::int64_t row) {
  std::int64_t low = 0;
  std::int64_t high = offsets.count - 1;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    if (offsets.data[middle] <= row)
      low = middle;
    else
      high = middle;
  }
  return low;
}

struct Sequence {
  std::int64_t first_query;
  std::int64_t queries;
  std::int64_t first_key;
  std::int64_t keys;
  std::int64_t first_weight;  ///< of the head's first query
};

SIMT_DEVICE Sequence sequence(const Attention& attention, std::int64_t number, int head) {
  const std::int64_t first_query = attention.q_offsets.data[number];
  const std::int64_t queries = attention.q_offsets.data[number + 1] - first_query;
  const std::int64_t first_key = attention.k_offsets.data[number];
  const std::int64_t keys = attention.k_offsets.data[number + 1] - first_key;
  const std::int64_t weights = attention.weight_offsets == nullptr ? 0 : attention.weight_offsets[number];
  return {first_query, queries, first_key, keys, weights + head * queries * keys};
}

SIMT_DEVICE std::int64_t visible_keys(const Attention& attention, const Sequence& of, std::int64_t query) {
  if (!attention.causal) return of.keys;
  const std::int64_t visible = query + of.keys - of.queries + 1;
  return visible < 0 ? 0 : least(visible, of.keys);
}
/// Returns the first query that sees a key.
SIMT_DEVICE std::int64_t first_seeing(const Attention& attention, const Sequence& of, std::int64_t key) {
  const std::int64_t hidden = attention.causal ? key - (of.keys - of.queries) : 0;
  return hidden < 0 ? 0 : hidden;
}

/// Returns the row in a table of biases by distance for key j and a query at position `place`.
SIMT_DEVICE std::int64_t bias_row(const Matrix& bias, std::int64_t j, std::int64_t place) {
  const std::int64_t reach = (bias.rows - 1) / 2;
  const std::int64_t distance = j - place;
  return reach + (distance < -reach ? -reach : least(distance, reach));
}
SIMT_DEVICE float bias_of(const Matrix& bias, std::int64_t j, std::int64_t place, int head) {
  return bias.data == nullptr ? 0 : at(bias, bias_row(bias, j, place), head);
}

/// Returns exp(x - y); 0 if x is minus infinity.
SIMT_DEVICE float exponential(float x, float y) {
  return x == -INFINITY ? 0 : expf(x - y);
}

}  // namespace dragoman::backend::cuda::device

#include "random.h"

#include <cmath>

// One warp for each query (or key) and head: sentences have some 30 tokens, so scores of 32 keys at a time are in the
// lanes of a warp, one each, and columns of a head, of which a lane has every 32nd, are added up in registers. Nothing
// is kept but what is asked for: weights are computed again where they are needed twice.
namespace dragoman::backend::cuda::device {
namespace {

constexpr int kWidestHead = 256;
constexpr int kColsOfLane = kWidestHead / kWarp;

/// A warp's head of one row.
struct Place {
  std::int64_t row;
  int head;
  std::int64_t first_col;
  std::int64_t width;
};

/// That of the calling thread; row is past the end in what is left over of the last block.
SIMT_DEVICE Place place_of(std::int64_t cols, int heads) {
  const std::int64_t warp = simt::block_index() * kWarps + simt::thread_index() / kWarp;
  const std::int64_t width = cols / heads;
  const auto head = static_cast<int>(warp % heads);
  return {warp / heads, head, head * width, width};
}

SIMT_DEVICE int lane() {
  return simt::thread_index() % kWarp;
}

/// A lane's columns of a head.
struct Columns {
  float values[kColsOfLane];

  SIMT_DEVICE Columns() {
    for (float& value : values) value = 0;
  }
  template <class Row>
  SIMT_DEVICE void add(float factor, const Row& row, std::int64_t width) {
    for (int i = 0; i < kColsOfLane; ++i)
      if (i * kWarp + lane() < width) values[i] += factor * row(i * kWarp + lane());
  }
  SIMT_DEVICE void store(const Matrix& y, const Place& place, float factor, bool accumulate) const {
    for (int i = 0; i < kColsOfLane; ++i)
      if (i * kWarp + lane() < place.width)
        put(y, place.row, place.first_col + i * kWarp + lane(), factor * values[i], accumulate);
  }
};

/// Columns of a row of floats.
struct FloatRow {
  const float* data;
  SIMT_DEVICE float operator()(std::int64_t col) const { return data[col]; }
};
template <class Words>
struct NarrowRow {
  const std::uint16_t* data;
  SIMT_DEVICE float operator()(std::int64_t col) const { return widen(Words(), data[col]); }
};
template <class Words>
struct NarrowPool {
  HalfMatrix rows;
};
SIMT_DEVICE FloatRow row_of(const Matrix& x, std::int64_t row, std::int64_t col) {
  return {&at(x, row, col)};
}
template <class Words>
SIMT_DEVICE NarrowRow<Words> row_of(const NarrowPool<Words>& x, std::int64_t row, std::int64_t col) {
  return {&at(x.rows, row, col)};
}

template <class A, class B>
SIMT_DEVICE float dot(const A& a, const B& b, std::int64_t width) {
  float sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum += a(c) * b(c);
  return sum;
}

/// What softmax needs to know of all scores of a query: weight = exp(score - maximum) / sum.
struct ScoreSums {
  float maximum = -INFINITY;
  float sum = 0;

  SIMT_DEVICE float weight(float score) const { return expf(score - maximum) / sum; }
};

/// score(j) for each key j below `keys`, in the lanes of a warp.
template <class Score>
SIMT_DEVICE ScoreSums sums_of(std::int64_t keys, const Score& score) {
  ScoreSums sums;
  for (std::int64_t j = lane(); j < keys; j += kWarp) sums.maximum = fmaxf(sums.maximum, score(j));
  sums.maximum = reduce_warp(sums.maximum, Maximum());
  for (std::int64_t j = lane(); j < keys; j += kWarp) sums.sum += expf(score(j) - sums.maximum);
  sums.sum = reduce_warp(sums.sum, Sum());
  return sums;
}

/// Adds factor(j) * row(j) over the keys j below `keys`. factor(j) is asked for in one lane.
template <class Factor, class Row>
SIMT_DEVICE Columns weighted_rows(std::int64_t keys, std::int64_t width, const Factor& factor, const Row& row) {
  Columns columns;
  for (std::int64_t first = 0; first < keys; first += kWarp) {
    const float own = first + lane() < keys ? factor(first + lane()) : 0;
    for (int i = 0; i < kWarp && first + i < keys; ++i) columns.add(simt::shuffle(own, i), row(first + i), width);
  }
  return columns;
}

/// Of a row of `offsets`: the last sequence that begins at or before it and is not empty.
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

/// The row of a table of biases by distance for key j, as seen from where the query stands.
SIMT_DEVICE std::int64_t bias_row(const Matrix& bias, std::int64_t j, std::int64_t place) {
  const std::int64_t reach = (bias.rows - 1) / 2;
  const std::int64_t distance = j - place;
  return reach + (distance < -reach ? -reach : least(distance, reach));
}
SIMT_DEVICE float bias_of(const Matrix& bias, std::int64_t j, std::int64_t place, int head) {
  return bias.data == nullptr ? 0 : at(bias, bias_row(bias, j, place), head);
}

struct WeightOffsets {
  Attention attention;
  SIMT_DEVICE void operator()() const {
    std::int64_t sum = 0;
    for (std::int64_t b = 0; b + 1 < attention.q_offsets.count; ++b) {
      attention.weight_offsets[b] = sum;
      const std::int64_t queries = attention.q_offsets.data[b + 1] - attention.q_offsets.data[b];
      sum += attention.heads * queries * (attention.k_offsets.data[b + 1] - attention.k_offsets.data[b]);
    }
  }
};

struct Forward {
  Attention attention;

  SIMT_DEVICE void operator()() const {
    const Place place = place_of(attention.q.cols, attention.heads);
    if (place.row >= attention.q.rows) return;
    const std::int64_t last = attention.q_offsets.data[attention.q_offsets.count - 1];
    if (place.row >= last) {  // of no sequence
      Columns().store(attention.y, place, 0, false);
      return;
    }
    const Sequence of = sequence(attention, sequence_of(attention.q_offsets, place.row), place.head);
    const std::int64_t query = place.row - of.first_query;
    const std::int64_t visible = visible_keys(attention, of, query);
    const FloatRow q = row_of(attention.q, place.row, place.first_col);
    const auto score = [&](std::int64_t j) {
      return attention.scale * dot(q, row_of(attention.k, of.first_key + j, place.first_col), place.width) +
             bias_of(attention.bias, j, query + of.keys - of.queries, place.head);
    };
    const ScoreSums sums = sums_of(visible, score);
    const std::int64_t first_weight = of.first_weight + query * of.keys;
    const auto weight = [&](std::int64_t j) {
      const float probability = sums.weight(score(j));
      if (attention.probabilities != nullptr) attention.probabilities[first_weight + j] = probability;
      return dropout_factor(attention.dropout, first_weight + j) * probability;
    };
    weighted_rows(visible, place.width, weight, [&](std::int64_t j) {
      return row_of(attention.v, of.first_key + j, place.first_col);
    }).store(attention.y, place, 1, false);
    if (attention.probabilities == nullptr) return;
    for (std::int64_t j = visible + lane(); j < of.keys; j += kWarp) attention.probabilities[first_weight + j] = 0;
  }
};

/// Gradient of queries, and the sums that those of the keys need, too.
struct QueryBackward {
  AttentionBackward arguments;

  SIMT_DEVICE void operator()() const {
    const Attention& attention = arguments.forward;
    const Place place = place_of(attention.q.cols, attention.heads);
    if (place.row >= attention.q.rows) return;
    const std::int64_t last = attention.q_offsets.data[attention.q_offsets.count - 1];
    Columns gradient;
    if (place.row < last) {
      const Sequence of = sequence(attention, sequence_of(attention.q_offsets, place.row), place.head);
      const std::int64_t query = place.row - of.first_query;
      const std::int64_t visible = visible_keys(attention, of, query);
      const std::int64_t first_weight = of.first_weight + query * of.keys;
      const FloatRow dy = row_of(arguments.dy, place.row, place.first_col);
      const auto weight_gradient = [&](std::int64_t j) {
        return dropout_factor(attention.dropout, first_weight + j) *
               dot(dy, row_of(attention.v, of.first_key + j, place.first_col), place.width);
      };
      float weighted = 0;
      for (std::int64_t j = lane(); j < visible; j += kWarp)
        weighted += attention.probabilities[first_weight + j] * weight_gradient(j);
      weighted = reduce_warp(weighted, Sum());
      if (lane() == 0) arguments.weighted[place.row * attention.heads + place.head] = weighted;
      const auto score_gradient = [&](std::int64_t j) {
        return attention.probabilities[first_weight + j] * (weight_gradient(j) - weighted);
      };
      if (arguments.dq.value.data != nullptr)
        gradient = weighted_rows(visible, place.width, score_gradient, [&](std::int64_t j) {
          return row_of(attention.k, of.first_key + j, place.first_col);
        });
    }
    if (arguments.dq.value.data != nullptr)
      gradient.store(arguments.dq.value, place, attention.scale, arguments.dq.accumulate);
  }
};

struct KeyBackward {
  AttentionBackward arguments;

  SIMT_DEVICE void operator()() const {
    const Attention& attention = arguments.forward;
    const Place place = place_of(attention.k.cols, attention.heads);
    if (place.row >= attention.k.rows) return;
    const std::int64_t last = attention.k_offsets.data[attention.k_offsets.count - 1];
    Columns dk;
    Columns dv;
    if (place.row < last) {
      const Sequence of = sequence(attention, sequence_of(attention.k_offsets, place.row), place.head);
      const std::int64_t key = place.row - of.first_key;
      // A key is seen from some query on.
      const std::int64_t hidden = attention.causal ? key - (of.keys - of.queries) : 0;
      const std::int64_t first = hidden < 0 ? 0 : hidden;
      const FloatRow v = row_of(attention.v, place.row, place.first_col);
      const auto weight_of = [&](std::int64_t i) { return of.first_weight + i * of.keys + key; };
      const auto kept = [&](std::int64_t i) {
        return dropout_factor(attention.dropout, weight_of(first + i)) * attention.probabilities[weight_of(first + i)];
      };
      const auto score_gradient = [&](std::int64_t i) {
        const std::int64_t row = of.first_query + first + i;
        const float gradient = dropout_factor(attention.dropout, weight_of(first + i)) *
                               dot(row_of(arguments.dy, row, place.first_col), v, place.width);
        const float weighted = arguments.weighted[row * attention.heads + place.head];
        return attention.probabilities[weight_of(first + i)] * (gradient - weighted);
      };
      const std::int64_t seeing = of.queries - first;
      if (arguments.dv.value.data != nullptr)
        dv = weighted_rows(seeing, place.width, kept, [&](std::int64_t i) {
          return row_of(arguments.dy, of.first_query + first + i, place.first_col);
        });
      if (arguments.dk.value.data != nullptr)
        dk = weighted_rows(seeing, place.width, score_gradient, [&](std::int64_t i) {
          return row_of(attention.q, of.first_query + first + i, place.first_col);
        });
    }
    if (arguments.dv.value.data != nullptr) dv.store(arguments.dv.value, place, 1, arguments.dv.accumulate);
    if (arguments.dk.value.data != nullptr)
      dk.store(arguments.dk.value, place, attention.scale, arguments.dk.accumulate);
  }
};

/// Gradient of a bias by distance: a warp for each row and head of the table, whose lanes have every 32nd query.
struct BiasBackward {
  AttentionBackward arguments;

  SIMT_DEVICE void operator()() const {
    const Attention& attention = arguments.forward;
    const Target& target = arguments.dbias;
    const std::int64_t warp = simt::block_index() * kWarps + simt::thread_index() / kWarp;
    const auto head = static_cast<int>(warp % attention.heads);
    const std::int64_t row = warp / attention.heads;
    if (row >= target.value.rows) return;
    const std::int64_t reach = (target.value.rows - 1) / 2;
    const std::int64_t width = attention.q.cols / attention.heads;
    const std::int64_t queries = attention.q_offsets.data[attention.q_offsets.count - 1];
    float sum = 0;
    for (std::int64_t r = lane(); r < queries; r += kWarp) {
      const Sequence of = sequence(attention, sequence_of(attention.q_offsets, r), head);
      const std::int64_t query = r - of.first_query;
      const std::int64_t key = query + of.keys - of.queries + row - reach;
      // What is further away has the bias of the table's ends.
      const std::int64_t begin = row == 0 || key < 0 ? 0 : key;
      const std::int64_t end =
          least(row == target.value.rows - 1 ? of.keys : key + 1, visible_keys(attention, of, query));
      const FloatRow dy = row_of(arguments.dy, r, head * width);
      const float weighted = arguments.weighted[r * attention.heads + head];
      for (std::int64_t j = begin; j < end; ++j) {
        const std::int64_t index = of.first_weight + query * of.keys + j;
        const float gradient = dropout_factor(attention.dropout, index) *
                               dot(dy, row_of(attention.v, of.first_key + j, head * width), width);
        sum += attention.probabilities[index] * (gradient - weighted);
      }
    }
    sum = reduce_warp(sum, Sum());
    if (lane() == 0) put(target.value, row, head, sum, target.accumulate);
  }
};

template <class Pool>
struct Cached {
  CachedAttention attention;
  Pool keys;
  Pool values;

  SIMT_DEVICE void operator()() const {
    const Place place = place_of(attention.q.cols, attention.heads);
    if (place.row >= attention.q.rows) return;
    const ops::KeyRange range = attention.ranges[place.row];
    const std::int32_t* const rows = attention.key_rows + range.begin;
    const FloatRow q = row_of(attention.q, place.row, place.first_col);
    const auto score = [&](std::int64_t j) {
      return attention.scale * dot(q, row_of(keys, rows[j], place.first_col), place.width) +
             bias_of(attention.bias, j, range.count - 1, place.head);
    };
    const ScoreSums sums = sums_of(range.count, score);
    const auto weight = [&](std::int64_t j) {
      const float probability = sums.weight(score(j));
      if (attention.probabilities.data != nullptr)
        at(attention.probabilities, place.row, std::int64_t{place.head} * range.count + j) = probability;
      return probability;
    };
    weighted_rows(range.count, place.width, weight, [&](std::int64_t j) {
      return row_of(values, rows[j], place.first_col);
    }).store(attention.y, place, 1, false);
  }
};

/// A warp for each head of each row.
template <class Kernel>
void for_each_head(std::int64_t rows, int heads, const Kernel& kernel) {
  simt::launch({blocks_of(rows * heads, kWarps)}, kThreads, 0, kernel);
}

}  // namespace

void attention(const Attention& arguments) {
  if (arguments.weight_offsets != nullptr) simt::launch({1}, 1, 0, WeightOffsets{arguments});
  for_each_head(arguments.q.rows, arguments.heads, Forward{arguments});
}

void attention_backward(const AttentionBackward& arguments) {
  const Attention& forward = arguments.forward;
  simt::launch({1}, 1, 0, WeightOffsets{forward});
  for_each_head(forward.q.rows, forward.heads, QueryBackward{arguments});
  if (arguments.dk.value.data != nullptr || arguments.dv.value.data != nullptr)
    for_each_head(forward.k.rows, forward.heads, KeyBackward{arguments});
  if (arguments.dbias.value.data != nullptr)
    for_each_head(arguments.dbias.value.rows, forward.heads, BiasBackward{arguments});
}

void cached_attention(const CachedAttention& arguments) {
  const std::int64_t rows = arguments.q.rows;
  if (arguments.keys.data != nullptr)
    return for_each_head(rows, arguments.heads, Cached<Matrix>{arguments, arguments.keys, arguments.values});
  with_words(arguments.narrow_type, [&]<class Words>(Words) {
    using Pool = NarrowPool<Words>;
    for_each_head(rows, arguments.heads, Cached<Pool>{arguments, {arguments.narrow_keys}, {arguments.narrow_values}});
  });
}

}  // namespace dragoman::backend::cuda::device

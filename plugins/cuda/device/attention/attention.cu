#include "attention_parts.h"

// Attention with one warp for each query (or key) and head: heads of any size, in fp32. Each lane has the score of one
// of 32 keys. It sums every 32nd column of the head in registers. For the backward pass only the logarithm of each
// query's sum is stored, unless the weights are requested.
namespace dragoman::backend::cuda::device {
namespace {

constexpr int kWidestHead = 256;
constexpr int kColsOfLane = kWidestHead / kWarp;

/// The head of one row that a warp processes.
struct Place {
  std::int64_t row;
  int head;
  std::int64_t first_col;
  std::int64_t width;
};

/// Returns the place of the calling thread. For surplus warps of the last block, the row is past the end.
SIMT_DEVICE Place place_of(std::int64_t cols, int heads) {
  const std::int64_t warp = simt::block_index() * kWarps + simt::thread_index() / kWarp;
  const std::int64_t width = cols / heads;
  const auto head = static_cast<int>(warp % heads);
  return {warp / heads, head, head * width, width};
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
  SIMT_DEVICE void scale(float factor) {
    for (float& value : values) value *= factor;
  }
  SIMT_DEVICE void store(const Matrix& y, const Place& place, float factor, bool accumulate) const {
    for (int i = 0; i < kColsOfLane; ++i)
      if (i * kWarp + lane() < place.width)
        put(y, place.row, place.first_col + i * kWarp + lane(), factor * values[i], accumulate);
  }
};

/// The columns of a row of floats.
struct FloatRow {
  const float* data;
  SIMT_DEVICE float operator()(std::int64_t col) const { return data[col]; }
};
SIMT_DEVICE FloatRow row_of(const Matrix& x, std::int64_t row, std::int64_t col) {
  return {&at(x, row, col)};
}
template <class A, class B>
SIMT_DEVICE float dot(const A& a, const B& b, std::int64_t width) {
  float sum = 0;
  for (std::int64_t c = 0; c < width; ++c) sum += a(c) * b(c);
  return sum;
}

/// Adds factor(j) * row(j) over the keys j below `keys`. factor(j) is evaluated in one lane.
template <class Factor, class Row>
SIMT_DEVICE Columns weighted_rows(std::int64_t keys, std::int64_t width, const Factor& factor, const Row& row) {
  Columns columns;
  for (std::int64_t first = 0; first < keys; first += kWarp) {
    const float own = first + lane() < keys ? factor(first + lane()) : 0;
    for (int i = 0; i < kWarp && first + i < keys; ++i) columns.add(simt::shuffle(own, i), row(first + i), width);
  }
  return columns;
}

/// A query's weighted sum of values, 32 keys at a time. Whenever a larger score occurs, the previous sum is scaled down
/// (Milakov & Gimelshein 2018).
struct OnlineSoftmax {
  float maximum = -INFINITY;
  float sum = 0;
  Columns columns;

  /// Returns the weight of the lane's key, without the final factor. A score of minus infinity means that there is no
  /// key.
  SIMT_DEVICE float next(float score) {
    const float now = fmaxf(maximum, reduce_warp(score, Maximum()));
    const float correction = exponential(maximum, now);
    maximum = now;
    const float weight = exponential(score, now);
    sum = sum * correction + reduce_warp(weight, Sum());
    columns.scale(correction);
    return weight;
  }
  SIMT_DEVICE float factor() const { return sum == 0 ? 0 : 1 / sum; }
  SIMT_DEVICE float weight(float score) const { return exponential(score, maximum) * factor(); }
};

struct Forward {
  Attention attention;

  SIMT_DEVICE void operator()() const {
    const Place place = place_of(attention.q.cols, attention.heads);
    if (place.row >= attention.q.rows) return;
    const std::int64_t last = attention.q_offsets.data[attention.q_offsets.count - 1];
    if (place.row >= last) {  // belongs to no sequence
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
    const std::int64_t first_weight = of.first_weight + query * of.keys;
    float* const probabilities = attention.probabilities == nullptr ? nullptr : attention.probabilities + first_weight;
    OnlineSoftmax softmax;
    for (std::int64_t first = 0; first < visible; first += kWarp) {
      const std::int64_t j = first + lane();
      const float own_score = j < visible ? score(j) : -INFINITY;
      if (probabilities != nullptr && j < visible) probabilities[j] = own_score;
      float own = softmax.next(own_score);
      if (own != 0) own *= dropout_factor(attention.dropout, first_weight + j);
      for (int i = 0; i < kWarp && first + i < visible; ++i)
        softmax.columns.add(simt::shuffle(own, i), row_of(attention.v, of.first_key + first + i, place.first_col),
                            place.width);
    }
    softmax.columns.store(attention.y, place, softmax.factor(), false);
    if (attention.log_sums != nullptr && lane() == 0)
      attention.log_sums[place.row * attention.heads + place.head] = softmax.maximum + logf(softmax.sum);
    if (probabilities == nullptr) return;
    for (std::int64_t j = lane(); j < of.keys; j += kWarp)
      probabilities[j] = j < visible ? softmax.weight(probabilities[j]) : 0;
  }
};

/// Returns the weight of a query's key in the backward pass: the stored weight, or a recomputed one.
SIMT_DEVICE float weight_again(const Attention& attention, const Sequence& of, std::int64_t query, std::int64_t key,
                               int head) {
  if (attention.log_sums == nullptr) return attention.probabilities[of.first_weight + query * of.keys + key];
  const std::int64_t width = attention.q.cols / attention.heads;
  const float score = attention.scale * dot(row_of(attention.q, of.first_query + query, head * width),
                                            row_of(attention.k, of.first_key + key, head * width), width) +
                      bias_of(attention.bias, key, query + of.keys - of.queries, head);
  return expf(score - attention.log_sums[(of.first_query + query) * attention.heads + head]);
}

/// Computes, for each query, the sum over keys of weight times gradient of the weight. This equals the dot product of
/// the query's output and its gradient.
struct WeightedSums {
  AttentionBackward arguments;

  SIMT_DEVICE void operator()() const {
    const Attention& attention = arguments.forward;
    const Place place = place_of(attention.q.cols, attention.heads);
    if (place.row >= attention.q.rows) return;
    const FloatRow y = row_of(attention.y, place.row, place.first_col);
    const FloatRow dy = row_of(arguments.dy, place.row, place.first_col);
    float sum = 0;
    for (std::int64_t c = lane(); c < place.width; c += kWarp) sum += y(c) * dy(c);
    // The gradient of the output does not include gradients of the weights themselves. If there are any, the weights
    // were stored.
    const std::int64_t last = attention.q_offsets.data[attention.q_offsets.count - 1];
    if (arguments.dweights != nullptr && place.row < last) {
      const Sequence of = sequence(attention, sequence_of(attention.q_offsets, place.row), place.head);
      const std::int64_t first_weight = of.first_weight + (place.row - of.first_query) * of.keys;
      for (std::int64_t j = lane(); j < of.keys; j += kWarp)
        sum += attention.probabilities[first_weight + j] * arguments.dweights[first_weight + j];
    }
    sum = reduce_warp(sum, Sum());
    if (lane() == 0) arguments.weighted[place.row * attention.heads + place.head] = sum;
  }
};

/// Returns the separate gradient of a weight; 0 if there is none.
SIMT_DEVICE float own_gradient(const AttentionBackward& arguments, std::int64_t index) {
  return arguments.dweights == nullptr ? 0 : arguments.dweights[index];
}

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
                   dot(dy, row_of(attention.v, of.first_key + j, place.first_col), place.width) +
               own_gradient(arguments, first_weight + j);
      };
      const float weighted = arguments.weighted[place.row * attention.heads + place.head];
      const auto score_gradient = [&](std::int64_t j) {
        return weight_again(attention, of, query, j, place.head) * (weight_gradient(j) - weighted);
      };
      gradient = weighted_rows(visible, place.width, score_gradient,
                               [&](std::int64_t j) { return row_of(attention.k, of.first_key + j, place.first_col); });
    }
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
      const std::int64_t first = first_seeing(attention, of, key);
      const FloatRow v = row_of(attention.v, place.row, place.first_col);
      const auto weight_of = [&](std::int64_t i) { return of.first_weight + i * of.keys + key; };
      const auto kept = [&](std::int64_t i) {
        return dropout_factor(attention.dropout, weight_of(first + i)) *
               weight_again(attention, of, first + i, key, place.head);
      };
      const auto score_gradient = [&](std::int64_t i) {
        const std::int64_t row = of.first_query + first + i;
        const float gradient = dropout_factor(attention.dropout, weight_of(first + i)) *
                                   dot(row_of(arguments.dy, row, place.first_col), v, place.width) +
                               own_gradient(arguments, weight_of(first + i));
        const float weighted = arguments.weighted[row * attention.heads + place.head];
        return weight_again(attention, of, first + i, key, place.head) * (gradient - weighted);
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

/// Computes the gradient of a bias by distance. A warp processes one row and head of the table; each lane takes every
/// 32nd query.
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
      // Keys beyond the reach have the biases at the table's ends.
      const std::int64_t begin = row == 0 || key < 0 ? 0 : key;
      const std::int64_t end =
          least(row == target.value.rows - 1 ? of.keys : key + 1, visible_keys(attention, of, query));
      const FloatRow dy = row_of(arguments.dy, r, head * width);
      const float weighted = arguments.weighted[r * attention.heads + head];
      for (std::int64_t j = begin; j < end; ++j) {
        const std::int64_t index = of.first_weight + query * of.keys + j;
        const float gradient = dropout_factor(attention.dropout, index) *
                                   dot(dy, row_of(attention.v, of.first_key + j, head * width), width) +
                               own_gradient(arguments, index);
        sum += weight_again(attention, of, query, j, head) * (gradient - weighted);
      }
    }
    sum = reduce_warp(sum, Sum());
    if (lane() == 0) put(target.value, row, head, sum, target.accumulate);
  }
};

void find_weight_offsets(const Attention& attention) {
  if (attention.weight_offsets != nullptr)
    weight_offsets(attention.q_offsets, attention.k_offsets, attention.heads, attention.weight_offsets);
}

/// Launches a warp for each head of each row.
template <class Kernel>
void for_each_head(std::int64_t rows, int heads, const Kernel& kernel) {
  simt::launch({blocks_of(rows * heads, kWarps)}, kThreads, 0, kernel);
}

}  // namespace

void attention(const Attention& arguments) {
  find_weight_offsets(arguments);
  if (arguments.tiles) return attention_of_tiles(arguments);
  if (arguments.probabilities == nullptr && arguments.dropout.threshold == 0) return attention_of_rows(arguments);
  for_each_head(arguments.q.rows, arguments.heads, Forward{arguments});
}

void attention_backward(const AttentionBackward& arguments) {
  const Attention& forward = arguments.forward;
  find_weight_offsets(forward);
  for_each_head(forward.q.rows, forward.heads, WeightedSums{arguments});
  if (arguments.dbias.value.data != nullptr)
    for_each_head(arguments.dbias.value.rows, forward.heads, BiasBackward{arguments});
  if (forward.tiles) return attention_of_tiles_backward(arguments);
  if (arguments.dq.value.data != nullptr) for_each_head(forward.q.rows, forward.heads, QueryBackward{arguments});
  if (arguments.dk.value.data != nullptr || arguments.dv.value.data != nullptr)
    for_each_head(forward.k.rows, forward.heads, KeyBackward{arguments});
}

}  // namespace dragoman::backend::cuda::device

#pragma once

#include "attention_parts.h"

/// A warp computes the attention of one query's head. 4 to 32 lanes share a key and have 8 of its columns each, so the
/// warp processes several keys at a time. The lanes read a key in consecutive pieces of 16 bytes. Afterwards each lane
/// has the score of one of 32 keys. The bits of a row depend only on its own query, keys and values.
namespace dragoman::backend::cuda::device {

inline constexpr int kColsOfPiece = 8;
inline constexpr std::int64_t kWidestRowHead = kColsOfPiece * kWarp;

/// Identifies fp32 elements, like simt::Bf16 and simt::F16 identify 16-bit elements.
struct Floats {};
template <class Numbers>
struct ElementOf {
  using Type = std::uint16_t;
};
template <>
struct ElementOf<Floats> {
  using Type = float;
};

/// The distribution of 32 keys over the lanes of a warp. In each step, each group of lanes has a different key.
struct KeyLanes {
  int log;  ///< 2^log lanes share a key; log is 2 to 5

  SIMT_DEVICE int piece() const { return lane() & ((1 << log) - 1); }
  SIMT_DEVICE int groups_log() const { return 5 - log; }
  SIMT_DEVICE int key(int step) const { return (step << groups_log()) + (lane() >> log); }
  /// Returns the key whose score and weight the lane has.
  SIMT_DEVICE int own_key() const { return key(piece()); }
  /// Returns the lane that has the score of the group's key.
  SIMT_DEVICE int owner(int step) const { return (lane() & -(1 << log)) + step; }
};
/// Returns KeyLanes::log for heads of this width.
inline int key_lanes_log(std::int64_t width) {
  int log = 2;
  while (kColsOfPiece << log < width) ++log;
  return log;
}

/// A lane's columns: four starting at `first` and four starting at `second`, as far as they are below the width.
struct PieceCols {
  int first;
  int second;
  int width;
  SIMT_DEVICE bool has_first() const { return first < width; }
  SIMT_DEVICE bool has_second() const { return second < width; }
};
/// Four float columns fill 16 bytes, so the second four columns of a lane come after the first four of all lanes.
SIMT_DEVICE PieceCols piece_cols(Floats, const KeyLanes& lanes, int width) {
  return {4 * lanes.piece(), (4 << lanes.log) + 4 * lanes.piece(), width};
}
template <class Words>
SIMT_DEVICE PieceCols piece_cols(Words, const KeyLanes& lanes, int width) {
  return {8 * lanes.piece(), 8 * lanes.piece() + 4, width};
}

/// The columns of one head in rows of queries, keys or values, starting at `first`.
template <class Numbers>
struct HeadPool {
  using Element = typename ElementOf<Numbers>::Type;
  using Vector = simt::Vector<std::uint32_t, 4>;
  static constexpr int kOfVector = sizeof(Vector) / sizeof(Element);

  const Element* data;
  std::int32_t stride;
  int first;

  /// Loads 16 bytes, starting at a column. All rows must be multiples of 16 bytes. The index of the 16-byte unit fits
  /// into 32 bits.
  SIMT_DEVICE void load_vector(std::int32_t row, int col, void* to) const {
    const std::uint32_t number = static_cast<std::uint32_t>(row) * static_cast<std::uint32_t>(stride / kOfVector) +
                                 static_cast<std::uint32_t>((first + col) / kOfVector);
    const Vector vector =
        simt::load_vector<4>(reinterpret_cast<const std::uint32_t*>(data) + std::uint64_t{number} * 4);
    __builtin_memcpy(to, &vector, sizeof vector);
  }
  SIMT_DEVICE Element at(std::int32_t row, int col) const {
    return data[static_cast<std::int64_t>(row) * stride + first + col];
  }
};

/// A lane's columns of a row as they were loaded, and as floats.
template <class Numbers>
struct Piece {
  std::uint32_t words[kColsOfPiece / 2];
  SIMT_DEVICE float operator()(int i) const {
    return widen(Numbers(), static_cast<std::uint16_t>(words[i / 2] >> (16 * (i % 2))));
  }
};
template <>
struct Piece<Floats> {
  float values[kColsOfPiece];
  SIMT_DEVICE float operator()(int i) const { return values[i]; }
};

/// If kWhole, the width and all rows are multiples of 16 bytes. Then columns outside the lane's range get arbitrary
/// values of the row, so that no load is conditional. If not kWhole, these columns are 0.
template <bool kWhole>
SIMT_DEVICE Piece<Floats> load_piece(const HeadPool<Floats>& pool, std::int32_t row, const PieceCols& cols) {
  Piece<Floats> piece = {};
  if constexpr (kWhole) {
    pool.load_vector(row, cols.has_first() ? cols.first : 0, piece.values);
    pool.load_vector(row, cols.has_second() ? cols.second : 0, piece.values + 4);
  } else {
    SIMT_UNROLL
    for (int i = 0; i < 4; ++i) {
      if (cols.first + i < cols.width) piece.values[i] = pool.at(row, cols.first + i);
      if (cols.second + i < cols.width) piece.values[4 + i] = pool.at(row, cols.second + i);
    }
  }
  return piece;
}
template <bool kWhole, class Words>
SIMT_DEVICE Piece<Words> load_piece(const HeadPool<Words>& pool, std::int32_t row, const PieceCols& cols) {
  Piece<Words> piece = {};
  if constexpr (kWhole) {
    pool.load_vector(row, cols.has_first() ? cols.first : 0, piece.words);
  } else {
    SIMT_UNROLL
    for (int i = 0; i < kColsOfPiece; ++i)
      if (cols.first + i < cols.width)
        piece.words[i / 2] |= static_cast<std::uint32_t>(pool.at(row, cols.first + i)) << (16 * (i % 2));
  }
  return piece;
}

template <class Numbers, bool kWhole>
class RowAttention {
 public:
  SIMT_DEVICE RowAttention(const KeyLanes& lanes, int width, const HeadPool<Floats>& queries, std::int32_t row)
      : lanes_(lanes), cols_(piece_cols(Numbers(), lanes, width)), q_(load_piece<kWhole>(queries, row, cols_)) {}

  /// Sums the values of `count` keys. Call it once. row_of(j) is the row of key j, and bias(j) is added to its score.
  /// If `weights` is not null, it receives the scores.
  template <class RowOf, class Bias>
  SIMT_DEVICE void attend(int count, float scale, const HeadPool<Numbers>& keys, const HeadPool<Numbers>& values,
                          const RowOf& row_of, const Bias& bias, float* weights) {
    SIMT_LOOP
    for (int first = 0; first < count; first += kWarp) {
      const int here = count - first < kWarp ? count - first : kWarp;
      const int own = lanes_.own_key();
      // Lanes without a key read the first key again, with the weight 0.
      const std::int32_t own_row = row_of(first + (own < here ? own : 0));
      float score = scores(keys, own_row, here);
      if (own < here) {
        score = scale * score + bias(first + own);
        if (weights != nullptr) weights[first + own] = score;
      } else {
        score = -INFINITY;
      }
      add_values(values, own_row, here, next_weight(score));
    }
  }

  /// Replaces the scores in `weights` by the weights.
  SIMT_DEVICE void finish_weights(int count, float* weights) const {
    for (int j = lanes_.own_key(); j < count; j += kWarp) weights[j] = exponential(weights[j], maximum_) * factor();
  }
  SIMT_DEVICE float log_sum() const { return maximum_ + logf(sum_); }

  /// Stores the head of the output.
  SIMT_DEVICE void store(float* y) {
    int left = kColsOfPiece;
    int col = cols_.first;
    // Pairs of lane groups exchange halves of their sums, so that each column is summed in one lane.
    int mask = 1 << lanes_.log;
    SIMT_UNROLL
    for (int half = kColsOfPiece / 2; half > 0; half /= 2, mask *= 2) {
      if (mask >= kWarp) continue;
      const bool upper = (lane() & mask) != 0;
      SIMT_UNROLL
      for (int i = 0; i < half; ++i) {
        const float given = upper ? sums_[i] : sums_[half + i];
        const float kept = upper ? sums_[half + i] : sums_[i];
        sums_[i] = kept + simt::shuffle_xor(given, mask);
      }
      left = half;
      if (upper) col = half == 4 ? cols_.second : col + half;
    }
    const float by = factor();
    SIMT_UNROLL
    for (int i = 0; i < 4; ++i)
      if (i < left && col + i < cols_.width) y[col + i] = by * sums_[i];
    if (left < kColsOfPiece) return;
    SIMT_UNROLL
    for (int i = 0; i < 4; ++i)
      if (cols_.second + i < cols_.width) y[cols_.second + i] = by * sums_[4 + i];
  }

 private:
  static constexpr int kSteps = 4;  ///< steps whose loads are in flight together

  SIMT_DEVICE float factor() const { return sum_ == 0 ? 0 : 1 / sum_; }

  SIMT_DEVICE void load_steps(const HeadPool<Numbers>& pool, std::int32_t own_row, int first_step,
                              Piece<Numbers> (&pieces)[kSteps]) const {
    SIMT_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      const std::int32_t row = simt::shuffle(own_row, lanes_.owner(first_step + s));
      pieces[s] = load_piece<kWhole>(pool, row, cols_);
    }
  }

  /// Returns the product of the query and the lane's own key, if there is one.
  SIMT_DEVICE float scores(const HeadPool<Numbers>& keys, std::int32_t own_row, int here) const {
    float own = 0;
    SIMT_LOOP
    for (int step = 0; step << lanes_.groups_log() < here; step += kSteps) {
      Piece<Numbers> pieces[kSteps];
      load_steps(keys, own_row, step, pieces);
      float sums[kSteps];
      SIMT_UNROLL
      for (int s = 0; s < kSteps; ++s) {
        float first = 0;
        float second = 0;
        SIMT_UNROLL
        for (int i = 0; i < 4; ++i) {
          first += q_(i) * pieces[s](i);
          second += q_(4 + i) * pieces[s](4 + i);
        }
        sums[s] = (cols_.has_first() ? first : 0) + (cols_.has_second() ? second : 0);
      }
      // Sums over the group's lanes. The sum of step s goes to the lanes whose number ends in the bits of s.
      const bool odd = (lane() & 1) != 0;
      const bool high = (lane() & 2) != 0;
      const float low_pair = (odd ? sums[1] : sums[0]) + simt::shuffle_xor(odd ? sums[0] : sums[1], 1);
      const float high_pair = (odd ? sums[3] : sums[2]) + simt::shuffle_xor(odd ? sums[2] : sums[3], 1);
      float sum = (high ? high_pair : low_pair) + simt::shuffle_xor(high ? low_pair : high_pair, 2);
      for (int mask = kSteps; mask < 1 << lanes_.log; mask *= 2) sum += simt::shuffle_xor(sum, mask);
      if ((lanes_.piece() & -kSteps) == step) own = sum;
    }
    return own;
  }

  /// Returns the weight of the lane's key, without the final factor. If the score is a new maximum, the previous sums
  /// are scaled down (Milakov & Gimelshein 2018).
  SIMT_DEVICE float next_weight(float score) {
    const float now = fmaxf(maximum_, reduce_warp(score, Maximum()));
    const float correction = exponential(maximum_, now);
    maximum_ = now;
    const float weight = exponential(score, now);
    sum_ = sum_ * correction + reduce_warp(weight, Sum());
    SIMT_UNROLL
    for (int i = 0; i < kColsOfPiece; ++i) sums_[i] *= correction;
    return weight;
  }

  SIMT_DEVICE void add_values(const HeadPool<Numbers>& values, std::int32_t own_row, int here, float own_weight) {
    SIMT_LOOP
    for (int step = 0; step << lanes_.groups_log() < here; step += kSteps) {
      Piece<Numbers> pieces[kSteps];
      load_steps(values, own_row, step, pieces);
      SIMT_UNROLL
      for (int s = 0; s < kSteps; ++s) {
        const float weight = simt::shuffle(own_weight, lanes_.owner(step + s));
        SIMT_UNROLL
        for (int i = 0; i < kColsOfPiece; ++i) sums_[i] += weight * pieces[s](i);
      }
    }
  }

  KeyLanes lanes_;
  PieceCols cols_;
  Piece<Floats> q_;
  float maximum_ = -INFINITY;
  float sum_ = 0;
  float sums_[kColsOfPiece] = {};  ///< over the keys of the lane's group
};

template <class Numbers>
SIMT_DEVICE HeadPool<Numbers> head_pool(Numbers, const View<typename ElementOf<Numbers>::Type>& x, int head,
                                        int width) {
  return {x.data, static_cast<std::int32_t>(x.stride), head * width};
}
/// Returns true if the rows and heads of a matrix are multiples of 16 bytes.
template <class T>
bool is_whole(const View<T>& x, std::int64_t width) {
  constexpr std::int64_t kOf = 16 / sizeof(T);
  return reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 && x.stride % kOf == 0 && width % kOf == 0;
}

/// The head and the row of the calling warp, for blocks with kWarps rows of one head.
struct HeadOfRow {
  int head;
  std::int32_t row;
};
SIMT_DEVICE HeadOfRow head_of_row(int heads) {
  const auto block = static_cast<std::uint32_t>(simt::block_index());
  const auto of = static_cast<std::uint32_t>(heads);
  return {static_cast<int>(block % of), static_cast<std::int32_t>(block / of) * kWarps + simt::thread_index() / kWarp};
}

}  // namespace dragoman::backend::cuda::device

#include "attention_parts.h"

// Attention on tensor cores, for heads of up to 128 columns, whose queries, keys, values, weights and gradients are
// rounded as products of the type ask for. A block has a tile of rows of one head, a warp 16 of them; the other side
// goes through shared memory, some rows at a time, and scores never leave registers (Dao 2023). What is a row of words
// for one product is a column for another, so some of it is in shared memory both ways. The backward pass computes the
// weights again, once for the queries and once for the keys, so that each gradient has one writer and one order.
namespace dragoman::backend::cuda::device {
namespace {

constexpr int kTileWarps = 4;
constexpr int kTileThreads = kTileWarps * kWarp;
constexpr int kWarpRows = 16;
constexpr int kTileRows = kTileWarps * kWarpRows;
/// Words between rows, so that multiply_tile()'s operands are read without conflicts of banks.
template <int kNumbers>
inline constexpr int kPitchOf = kNumbers / 2 + 4;

/// Tiles of rows of ragged sequences: more numbers than there are tiles, but as many as a function of the numbers of
/// rows and sequences alone says. Sequence b has those from offsets[b] / kTileRows + b on.
constexpr std::int64_t tile_numbers(std::int64_t rows, std::int64_t sequences) {
  return rows / kTileRows + sequences;
}
struct Tile {
  std::int64_t sequence;
  std::int64_t first;  ///< row within the sequence
};
SIMT_DEVICE Tile tile_of(const Ids& offsets, std::int64_t number) {
  std::int64_t low = 0;
  std::int64_t high = offsets.count - 1;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    if (offsets.data[middle] / kTileRows + middle <= number)
      low = middle;
    else
      high = middle;
  }
  return {low, (number - (offsets.data[low] / kTileRows + low)) * kTileRows};
}

/// Rows of one head of one sequence.
struct HeadRows {
  const float* data;
  std::int64_t stride;
  std::int64_t rows;
  int width;

  /// Zero beyond the last row and column.
  SIMT_DEVICE float operator()(std::int64_t row, int col) const {
    return row < rows && col < width ? data[row * stride + col] : 0;
  }
};
SIMT_DEVICE HeadRows head_rows(const Matrix& x, std::int64_t first, std::int64_t rows, int head, int width) {
  return {x.data + first * x.stride + std::int64_t{head} * width, x.stride, rows, width};
}

/// Words of the rows from `first` on.
template <class Words, int kRows, int kHead>
SIMT_DEVICE void bring(const HeadRows& x, std::int64_t first, const Shared<std::uint32_t>& to) {
  constexpr int kWords = kHead / 2;
  for (int e = simt::thread_index(); e < kRows * kWords; e += kTileThreads) {
    const int row = e / kWords;
    const int word = e % kWords;
    to[row * kPitchOf<kHead> + word] = word_of(Words(), x(first + row, 2 * word), x(first + row, 2 * word + 1));
  }
}
/// The same turned: words of two rows for each column. Threads go through 8 columns by 4 words at a time, which lie in
/// banks of their own.
template <class Words, int kRows, int kHead>
SIMT_DEVICE void bring_turned(const HeadRows& x, std::int64_t first, const Shared<std::uint32_t>& to) {
  for (int e = simt::thread_index(); e < kHead * kRows / 2; e += kTileThreads) {
    const int part = e / kWarp;
    const int col = part % (kHead / 8) * 8 + e % kWarp / 4;
    const int word = part / (kHead / 8) * 4 + e % 4;
    to[col * kPitchOf<kRows> + word] = word_of(Words(), x(first + 2 * word, col), x(first + 2 * word + 1, col));
  }
}

/// The operands that multiply_tile() has of a warp's 16 rows: from memory, from shared memory, and from sums of two
/// tiles that were multiplied before.
template <class Words>
SIMT_DEVICE void load_rows(const HeadRows& x, std::int64_t first, int step, std::uint32_t (&a)[4]) {
  SIMT_UNROLL
  for (int part = 0; part < 4; ++part) {
    const std::int64_t row = first + lane() / 4 + part % 2 * 8;
    const int col = 2 * (step * 8 + lane() % 4 + part / 2 * 4);
    a[part] = word_of(Words(), x(row, col), x(row, col + 1));
  }
}
SIMT_DEVICE void read_rows(const Shared<std::uint32_t>& x, int first, int pitch, int step, std::uint32_t (&a)[4]) {
  SIMT_UNROLL
  for (int part = 0; part < 4; ++part)
    a[part] = x[(first + lane() / 4 + part % 2 * 8) * pitch + step * 8 + lane() % 4 + part / 2 * 4];
}
template <class Words>
SIMT_DEVICE void take_sums(const float (&left)[4], const float (&right)[4], std::uint32_t (&a)[4]) {
  a[0] = word_of(Words(), left[0], left[1]);
  a[1] = word_of(Words(), left[2], left[3]);
  a[2] = word_of(Words(), right[0], right[1]);
  a[3] = word_of(Words(), right[2], right[3]);
}
/// sums[j] += a * (rows 8 j to 8 j + 7 of b)^T for one step of words.
template <class Words, int kTiles>
SIMT_DEVICE void multiply_step(float (&sums)[kTiles][4], const std::uint32_t (&a)[4], const Shared<std::uint32_t>& b,
                               int pitch, int step) {
  SIMT_UNROLL
  for (int j = 0; j < kTiles; ++j) {
    const int place = (j * 8 + lane() / 4) * pitch + step * 8 + lane() % 4;
    const std::uint32_t words[2] = {b[place], b[place + 4]};
    simt::multiply_tile(Words(), sums[j], a, words);
  }
}

/// What a lane has of a tile's sums: number s of tile j is in row lane / 4 + s / 2 * 8 and this column.
SIMT_DEVICE int col_of(int j, int s) {
  return j * 8 + lane() % 4 * 2 + s % 2;
}
SIMT_DEVICE int row_of(int s) {
  return lane() / 4 + s / 2 * 8;
}
/// Over the lanes that have parts of a row.
template <class Reduction>
SIMT_DEVICE float reduce_row(float value, Reduction reduction) {
  value = reduction(value, simt::shuffle_xor(value, 1));
  return reduction(value, simt::shuffle_xor(value, 2));
}

template <int kTiles>
SIMT_DEVICE void store(const float (&sums)[kTiles][4], const Matrix& y, std::int64_t first, std::int64_t begin,
                       std::int64_t rows, int head, int width, const float (&factors)[2], bool accumulate) {
  SIMT_UNROLL
  for (int j = 0; j < kTiles; ++j) SIMT_UNROLL
  for (int s = 0; s < 4; ++s) {
    const std::int64_t row = begin + row_of(s);
    if (row < rows && col_of(j, s) < width)
      put(y, first + row, std::int64_t{head} * width + col_of(j, s), factors[s / 2] * sums[j][s], accumulate);
  }
}

template <class Words, int kHead>
struct ForwardTiles {
  Attention attention;
  static constexpr int kKeys = 64;
  static constexpr int kSteps = kHead / 16;
  static constexpr std::size_t kShared = (kKeys * kPitchOf<kHead> + kHead * kPitchOf<kKeys>)*sizeof(std::uint32_t);

  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto keys = memory.take<std::uint32_t>(kKeys * kPitchOf<kHead>);
    const auto values = memory.take<std::uint32_t>(kHead * kPitchOf<kKeys>);
    const auto head = static_cast<int>(simt::block_index() % attention.heads);
    const Tile tile = tile_of(attention.q_offsets, simt::block_index() / attention.heads);
    const Sequence of = sequence(attention, tile.sequence, head);
    if (tile.first >= of.queries) return;
    const auto width = static_cast<int>(attention.q.cols / attention.heads);
    const HeadRows q = head_rows(attention.q, of.first_query, of.queries, head, width);
    const HeadRows k = head_rows(attention.k, of.first_key, of.keys, head, width);
    const HeadRows v = head_rows(attention.v, of.first_key, of.keys, head, width);
    const std::int64_t begin = tile.first + simt::thread_index() / kWarp * kWarpRows;
    std::uint32_t query_words[kSteps][4];
    SIMT_UNROLL
    for (int step = 0; step < kSteps; ++step) load_rows<Words>(q, begin, step, query_words[step]);
    const std::int64_t visible[2] = {visible_keys(attention, of, begin + row_of(0)),
                                     visible_keys(attention, of, begin + row_of(2))};
    const std::int64_t end = visible_keys(attention, of, least(tile.first + kTileRows, of.queries) - 1);
    float maxima[2] = {-INFINITY, -INFINITY};
    float sums[2] = {0, 0};
    float outputs[kHead / 8][4] = {};
    for (std::int64_t first = 0; first < end; first += kKeys) {
      simt::barrier();
      bring<Words, kKeys, kHead>(k, first, keys);
      bring_turned<Words, kKeys, kHead>(v, first, values);
      simt::barrier();
      float scores[kKeys / 8][4] = {};
      SIMT_UNROLL
      for (int step = 0; step < kSteps; ++step)
        multiply_step<Words>(scores, query_words[step], keys, kPitchOf<kHead>, step);
      float now[2] = {maxima[0], maxima[1]};
      SIMT_UNROLL
      for (int j = 0; j < kKeys / 8; ++j) SIMT_UNROLL
      for (int s = 0; s < 4; ++s) {
        const std::int64_t key = first + col_of(j, s);
        const bool seen = key < visible[s / 2];
        scores[j][s] = seen ? attention.scale * scores[j][s] +
                                  bias_of(attention.bias, key, begin + row_of(s) + of.keys - of.queries, head)
                            : -INFINITY;
        now[s / 2] = fmaxf(now[s / 2], scores[j][s]);
      }
      SIMT_UNROLL
      for (int r = 0; r < 2; ++r) {
        now[r] = reduce_row(now[r], Maximum());
        const float correction = exponential(maxima[r], now[r]);
        maxima[r] = now[r];
        sums[r] *= correction;
        SIMT_UNROLL
        for (int c = 0; c < kHead / 8; ++c) {
          outputs[c][2 * r] *= correction;
          outputs[c][2 * r + 1] *= correction;
        }
      }
      SIMT_UNROLL
      for (int j = 0; j < kKeys / 8; ++j) SIMT_UNROLL
      for (int s = 0; s < 4; ++s) {
        const float weight = exponential(scores[j][s], maxima[s / 2]);
        sums[s / 2] += weight;
        scores[j][s] = weight;
        if (attention.dropout.threshold != 0 && weight != 0)
          scores[j][s] *=
              dropout_factor(attention.dropout, of.first_weight + (begin + row_of(s)) * of.keys + first + col_of(j, s));
      }
      SIMT_UNROLL
      for (int step = 0; step < kKeys / 16; ++step) {
        std::uint32_t weight_words[4];
        take_sums<Words>(scores[2 * step], scores[2 * step + 1], weight_words);
        multiply_step<Words>(outputs, weight_words, values, kPitchOf<kKeys>, step);
      }
    }
    float factors[2];
    SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      sums[r] = reduce_row(sums[r], Sum());
      factors[r] = sums[r] == 0 ? 0 : 1 / sums[r];
      const std::int64_t row = begin + row_of(2 * r);
      if (lane() % 4 == 0 && row < of.queries && attention.log_sums != nullptr)
        attention.log_sums[(of.first_query + row) * attention.heads + head] = maxima[r] + logf(sums[r]);
    }
    store(outputs, attention.y, of.first_query, begin, of.queries, head, width, factors, false);
  }
};

/// Of the other side that the backward pass has at a time: wide heads leave fewer registers.
template <int kHead>
inline constexpr int kOtherRows = kHead > 64 ? 16 : 32;

template <class Words, int kHead>
struct QueryTiles {
  AttentionBackward arguments;
  static constexpr int kKeys = kOtherRows<kHead>;
  static constexpr int kSteps = kHead / 16;
  static constexpr std::size_t kShared = (2 * kKeys * kPitchOf<kHead> + kHead * kPitchOf<kKeys>)*sizeof(std::uint32_t);

  SIMT_DEVICE void operator()() const {
    const Attention& attention = arguments.forward;
    simt::SharedMemory memory;
    const auto keys = memory.take<std::uint32_t>(kKeys * kPitchOf<kHead>);
    const auto values = memory.take<std::uint32_t>(kKeys * kPitchOf<kHead>);
    const auto turned_keys = memory.take<std::uint32_t>(kHead * kPitchOf<kKeys>);
    const auto head = static_cast<int>(simt::block_index() % attention.heads);
    const Tile tile = tile_of(attention.q_offsets, simt::block_index() / attention.heads);
    const Sequence of = sequence(attention, tile.sequence, head);
    if (tile.first >= of.queries) return;
    const auto width = static_cast<int>(attention.q.cols / attention.heads);
    const HeadRows q = head_rows(attention.q, of.first_query, of.queries, head, width);
    const HeadRows dy = head_rows(arguments.dy, of.first_query, of.queries, head, width);
    const HeadRows k = head_rows(attention.k, of.first_key, of.keys, head, width);
    const HeadRows v = head_rows(attention.v, of.first_key, of.keys, head, width);
    const std::int64_t begin = tile.first + simt::thread_index() / kWarp * kWarpRows;
    std::uint32_t query_words[kSteps][4];
    std::uint32_t dy_words[kSteps][4];
    SIMT_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      load_rows<Words>(q, begin, step, query_words[step]);
      load_rows<Words>(dy, begin, step, dy_words[step]);
    }
    std::int64_t visible[2];
    float log_sums[2];
    float weighted[2];
    SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      const std::int64_t row = begin + row_of(2 * r);
      const bool inside = row < of.queries;
      const std::int64_t place = (of.first_query + row) * attention.heads + head;
      visible[r] = inside ? visible_keys(attention, of, row) : 0;
      log_sums[r] = inside ? attention.log_sums[place] : 0;
      weighted[r] = inside ? arguments.weighted[place] : 0;
    }
    const std::int64_t end = visible_keys(attention, of, least(tile.first + kTileRows, of.queries) - 1);
    float gradients[kHead / 8][4] = {};
    for (std::int64_t first = 0; first < end; first += kKeys) {
      simt::barrier();
      bring<Words, kKeys, kHead>(k, first, keys);
      bring<Words, kKeys, kHead>(v, first, values);
      bring_turned<Words, kKeys, kHead>(k, first, turned_keys);
      simt::barrier();
      float scores[kKeys / 8][4] = {};
      float weight_gradients[kKeys / 8][4] = {};
      SIMT_UNROLL
      for (int step = 0; step < kSteps; ++step) {
        multiply_step<Words>(scores, query_words[step], keys, kPitchOf<kHead>, step);
        multiply_step<Words>(weight_gradients, dy_words[step], values, kPitchOf<kHead>, step);
      }
      SIMT_UNROLL
      for (int j = 0; j < kKeys / 8; ++j) SIMT_UNROLL
      for (int s = 0; s < 4; ++s) {
        const std::int64_t key = first + col_of(j, s);
        const std::int64_t query = begin + row_of(s);
        if (key >= visible[s / 2]) {
          scores[j][s] = 0;
          continue;
        }
        const float score =
            attention.scale * scores[j][s] + bias_of(attention.bias, key, query + of.keys - of.queries, head);
        const float factor = dropout_factor(attention.dropout, of.first_weight + query * of.keys + key);
        scores[j][s] = expf(score - log_sums[s / 2]) * (factor * weight_gradients[j][s] - weighted[s / 2]);
      }
      SIMT_UNROLL
      for (int step = 0; step < kKeys / 16; ++step) {
        std::uint32_t words[4];
        take_sums<Words>(scores[2 * step], scores[2 * step + 1], words);
        multiply_step<Words>(gradients, words, turned_keys, kPitchOf<kKeys>, step);
      }
    }
    store(gradients, arguments.dq.value, of.first_query, begin, of.queries, head, width,
          {attention.scale, attention.scale}, arguments.dq.accumulate);
  }
};

template <class Words, int kHead>
struct KeyTiles {
  AttentionBackward arguments;
  static constexpr int kQueries = kOtherRows<kHead>;
  static constexpr int kSteps = kHead / 16;
  static constexpr int kPitch = kPitchOf<kHead>;
  static constexpr std::size_t kShared =
      (2 * (kTileRows + kQueries) * kPitch + 2 * kHead * kPitchOf<kQueries>)*sizeof(std::uint32_t) +
      2 * kQueries * sizeof(float);

  SIMT_DEVICE void operator()() const {
    const Attention& attention = arguments.forward;
    simt::SharedMemory memory;
    const auto keys = memory.take<std::uint32_t>(kTileRows * kPitch);
    const auto values = memory.take<std::uint32_t>(kTileRows * kPitch);
    const auto queries = memory.take<std::uint32_t>(kQueries * kPitch);
    const auto dys = memory.take<std::uint32_t>(kQueries * kPitch);
    const auto turned_queries = memory.take<std::uint32_t>(kHead * kPitchOf<kQueries>);
    const auto turned_dys = memory.take<std::uint32_t>(kHead * kPitchOf<kQueries>);
    const auto log_sums = memory.take<float>(kQueries);
    const auto weighted = memory.take<float>(kQueries);
    const auto head = static_cast<int>(simt::block_index() % attention.heads);
    const Tile tile = tile_of(attention.k_offsets, simt::block_index() / attention.heads);
    const Sequence of = sequence(attention, tile.sequence, head);
    if (tile.first >= of.keys) return;
    const auto width = static_cast<int>(attention.q.cols / attention.heads);
    const HeadRows q = head_rows(attention.q, of.first_query, of.queries, head, width);
    const HeadRows dy = head_rows(arguments.dy, of.first_query, of.queries, head, width);
    const int warp_row = simt::thread_index() / kWarp * kWarpRows;
    const std::int64_t begin = tile.first + warp_row;
    bring<Words, kTileRows, kHead>(head_rows(attention.k, of.first_key, of.keys, head, width), tile.first, keys);
    bring<Words, kTileRows, kHead>(head_rows(attention.v, of.first_key, of.keys, head, width), tile.first, values);
    float key_gradients[kHead / 8][4] = {};
    float value_gradients[kHead / 8][4] = {};
    for (std::int64_t first = first_seeing(attention, of, tile.first); first < of.queries; first += kQueries) {
      simt::barrier();
      bring<Words, kQueries, kHead>(q, first, queries);
      bring<Words, kQueries, kHead>(dy, first, dys);
      bring_turned<Words, kQueries, kHead>(q, first, turned_queries);
      bring_turned<Words, kQueries, kHead>(dy, first, turned_dys);
      for (int i = simt::thread_index(); i < kQueries; i += kTileThreads) {
        const bool inside = first + i < of.queries;
        const std::int64_t place = (of.first_query + first + i) * attention.heads + head;
        log_sums[i] = inside ? attention.log_sums[place] : 0;
        weighted[i] = inside ? arguments.weighted[place] : 0;
      }
      simt::barrier();
      float scores[kQueries / 8][4] = {};
      float weight_gradients[kQueries / 8][4] = {};
      SIMT_UNROLL
      for (int step = 0; step < kSteps; ++step) {
        std::uint32_t words[4];
        read_rows(keys, warp_row, kPitch, step, words);
        multiply_step<Words>(scores, words, queries, kPitch, step);
        read_rows(values, warp_row, kPitch, step, words);
        multiply_step<Words>(weight_gradients, words, dys, kPitch, step);
      }
      // Scores become the weights that values were multiplied by, the others gradients of scores.
      SIMT_UNROLL
      for (int j = 0; j < kQueries / 8; ++j) SIMT_UNROLL
      for (int s = 0; s < 4; ++s) {
        const std::int64_t key = begin + row_of(s);
        const std::int64_t query = first + col_of(j, s);
        if (query >= of.queries || key >= visible_keys(attention, of, query)) {
          scores[j][s] = weight_gradients[j][s] = 0;
          continue;
        }
        const float score =
            attention.scale * scores[j][s] + bias_of(attention.bias, key, query + of.keys - of.queries, head);
        const float factor = dropout_factor(attention.dropout, of.first_weight + query * of.keys + key);
        const float weight = expf(score - log_sums[col_of(j, s)]);
        scores[j][s] = factor * weight;
        weight_gradients[j][s] = weight * (factor * weight_gradients[j][s] - weighted[col_of(j, s)]);
      }
      SIMT_UNROLL
      for (int step = 0; step < kQueries / 16; ++step) {
        std::uint32_t words[4];
        take_sums<Words>(scores[2 * step], scores[2 * step + 1], words);
        multiply_step<Words>(value_gradients, words, turned_dys, kPitchOf<kQueries>, step);
        take_sums<Words>(weight_gradients[2 * step], weight_gradients[2 * step + 1], words);
        multiply_step<Words>(key_gradients, words, turned_queries, kPitchOf<kQueries>, step);
      }
    }
    if (arguments.dv.value.data != nullptr)
      store(value_gradients, arguments.dv.value, of.first_key, begin, of.keys, head, width, {1, 1},
            arguments.dv.accumulate);
    if (arguments.dk.value.data != nullptr)
      store(key_gradients, arguments.dk.value, of.first_key, begin, of.keys, head, width,
            {attention.scale, attention.scale}, arguments.dk.accumulate);
  }
};

template <class Kernel, class Arguments>
void for_each_tile(const Attention& attention, std::int64_t rows, const Arguments& arguments) {
  const std::int64_t sequences = attention.q_offsets.count - 1;
  simt::launch({tile_numbers(rows, sequences) * attention.heads}, kTileThreads, Kernel::kShared, Kernel{arguments});
}

/// function.template operator()<Words, kHead>() with the least size of heads that these fit in.
template <class Function>
void with_head(const Attention& attention, const Function& function) {
  const std::int64_t width = attention.q.cols / attention.heads;
  with_words(attention.tile_type, [&]<class Words>(Words) {
    if (width <= 32)
      function.template operator()<Words, 32>();
    else if (width <= 64)
      function.template operator()<Words, 64>();
    else if (width <= 96)
      function.template operator()<Words, 96>();
    else
      function.template operator()<Words, 128>();
  });
}

}  // namespace

void attention_of_tiles(const Attention& attention) {
  with_head(attention, [&]<class Words, int kHead>() {
    for_each_tile<ForwardTiles<Words, kHead>>(attention, attention.q.rows, attention);
  });
}

void attention_of_tiles_backward(const AttentionBackward& arguments) {
  const Attention& attention = arguments.forward;
  with_head(attention, [&]<class Words, int kHead>() {
    if (arguments.dq.value.data != nullptr)
      for_each_tile<QueryTiles<Words, kHead>>(attention, attention.q.rows, arguments);
    if (arguments.dk.value.data != nullptr || arguments.dv.value.data != nullptr)
      for_each_tile<KeyTiles<Words, kHead>>(attention, attention.k.rows, arguments);
  });
}

}  // namespace dragoman::backend::cuda::device

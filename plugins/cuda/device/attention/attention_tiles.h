#pragma once

#include "attention_parts.h"

/// Attention on tensor cores, for heads of up to 128 columns. Queries, keys, values, weights and gradients are rounded
/// as products of the type require.
///
/// A warp has a tile: 16 rows of one head of a sequence. It goes through the other side 16 rows at a time,
/// independently of other warps. Most sentences have one or two tiles, so synchronised warps and jointly filled shared
/// memory would cost more than they save. Operands are loaded from memory into registers, 16 bytes at a time. Scores
/// never leave the registers (Dao 2023).
///
/// A product may sum its columns in any order, and have its results in any order, if both sides agree. Both orders are
/// chosen such that a lane needs 4 consecutive values in memory.
namespace dragoman::backend::cuda::device {

using FourFloats = simt::Vector<float, 4>;

inline constexpr int kTileWarps = 4;
inline constexpr int kTileRows = 16;

/// Returns the number of tile numbers for the rows of ragged sequences. There may be more numbers than tiles, but the
/// count depends only on the numbers of rows and sequences. The tiles of sequence b have numbers from offsets[b] /
/// kTileRows + b on.
constexpr std::int64_t tile_numbers(std::int64_t rows, std::int64_t sequences) {
  return rows / kTileRows + sequences;
}
struct Tile {
  int head;
  int first;  ///< row within the sequence; past its end if this number has no tile
  int first_query;
  int queries;
  int first_key;
  int keys;
  std::int64_t first_weight;  ///< of the head's first query

  /// Returns the number of keys that a query sees.
  SIMT_DEVICE int visible(bool causal, int query) const {
    const int seen = query + keys - queries + 1;
    return !causal || seen > keys ? keys : seen < 0 ? 0 : seen;
  }
  /// Returns the number of keys that the tile's last query sees. No other query of the tile sees more.
  SIMT_DEVICE int visible_in_tile(bool causal) const {
    const int end = first + kTileRows;
    return visible(causal, (end < queries ? end : queries) - 1);
  }
  SIMT_DEVICE std::int64_t weight(int query, int key) const { return first_weight + std::int64_t{query} * keys + key; }
};
/// Returns the tile of the calling warp. The warps of a block have adjacent tiles, which read the same rows of the
/// other side if the sequence is long.
SIMT_DEVICE Tile tile_of(const Attention& attention, const Ids& offsets) {
  const auto block = static_cast<std::uint32_t>(simt::block_index());
  const auto heads = static_cast<std::uint32_t>(attention.heads);
  const auto head = static_cast<int>(block % heads);
  const int number = static_cast<int>(block / heads) * kTileWarps + simt::thread_index() / kWarp;
  const auto first_number = [&](int sequence) {
    return static_cast<int>(static_cast<std::uint32_t>(offsets.data[sequence]) / kTileRows) + sequence;
  };
  int low = 0;
  auto high = static_cast<int>(offsets.count - 1);
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (first_number(middle) <= number)
      low = middle;
    else
      high = middle;
  }
  Tile tile;
  tile.head = head;
  tile.first = (number - first_number(low)) * kTileRows;
  tile.first_query = attention.q_offsets.data[low];
  tile.queries = attention.q_offsets.data[low + 1] - tile.first_query;
  tile.first_key = attention.k_offsets.data[low];
  tile.keys = attention.k_offsets.data[low + 1] - tile.first_key;
  tile.first_weight = attention.weight_offsets == nullptr ? 0 : attention.weight_offsets[low];
  tile.first_weight += std::int64_t{head} * tile.queries * tile.keys;
  return tile;
}

/// Rows of one head of one sequence. If kWhole, the head has kHead columns, and its addresses are aligned for vectors
/// of 4 floats.
template <int kHead, bool kWhole>
struct HeadRows {
  const float* data;
  std::uint32_t stride;
  int last;
  int width;

  SIMT_DEVICE HeadRows(const Matrix& x, int first, int rows, const Attention& attention, int head)
      : stride(static_cast<std::uint32_t>(x.stride)), last(rows - 1) {
    if constexpr (kWhole)
      width = kHead;
    else
      width = static_cast<int>(attention.q.cols) / attention.heads;
    data = x.data + first * x.stride + head * width;
  }
  /// A row, starting at column `col`. A row number past the end gives the last row; products with it are not used.
  struct Row {
    const float* data;
    int cols;  ///< number of columns from `col` on

    /// Returns 4 values, starting at column `col`; 0 for columns that do not exist.
    SIMT_DEVICE FourFloats quad(int col) const {
      if constexpr (kWhole) {
        return simt::load_vector<4>(data + col);
      } else {
        FourFloats quad;
        SIMT_UNROLL
        for (int i = 0; i < 4; ++i) quad.values[i] = col + i < cols ? data[col + i] : 0;
        return quad;
      }
    }
  };
  SIMT_DEVICE Row row(int number, int col) const {
    // 32-bit arithmetic suffices for the values of a sequence. The compiler would carry 64 bits through the rest of the
    // kernel.
    const std::uint32_t place = static_cast<std::uint32_t>(number < last ? number : last) * stride + col;
    return {data + place, width - col};
  }
};

/// Loads the words of 16 rows, starting at `first`, for multiply_tile() products that sum over columns, starting at
/// `col`. For a step of 16 columns, the words are one operand a or two operands b. Operand b number j consists of the
/// words j and j + 2. The columns of a step are ordered such that a lane has 4 adjacent ones.
template <class Words, int kHead, bool kWhole, int kSteps>
SIMT_DEVICE void load_columns(const HeadRows<kHead, kWhole>& x, int first, int col, std::uint32_t (&words)[kSteps][4]) {
  SIMT_UNROLL
  for (int r = 0; r < 2; ++r) {
    const auto row = x.row(first + lane() / 4 + 8 * r, col + lane() % 4 * 4);
    SIMT_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      const FourFloats quad = row.quad(step * 16);
      words[step][r] = simt::to_word(Words(), quad.values[0], quad.values[1]);
      words[step][r + 2] = simt::to_word(Words(), quad.values[2], quad.values[3]);
    }
  }
}

/// For products whose results are columns of a head: column n of the product's tiles 4 part to 4 part + 3 is the group
/// of 4 columns that begins at column 32 part + first_col_of(n).
SIMT_DEVICE int first_col_of(int n) {
  return n % 2 * 16 + n / 2 * 4;
}
/// sums += a b^T over these columns.
template <class Words, int kSteps>
SIMT_DEVICE void add_products(float (&sums)[2][4], const std::uint32_t (&a)[kSteps][4],
                              const std::uint32_t (&b)[kSteps][4]) {
  SIMT_UNROLL
  for (int step = 0; step < kSteps; ++step) SIMT_UNROLL
  for (int j = 0; j < 2; ++j) {
    const std::uint32_t words[2] = {b[step][j], b[step][j + 2]};
    simt::multiply_tile(Words(), sums[j], a[step], words);
  }
}
/// Holds the tile's rows as operand a of products over columns. The rows of wide heads are loaded for each product,
/// because they would take registers that the gradients need.
template <class Words, int kHead, bool kWhole>
struct TileRows {
  static constexpr bool kKept = kHead <= 64;
  HeadRows<kHead, kWhole> rows;
  int first;
  std::uint32_t words[kKept ? kHead / 16 : 1][4];

  SIMT_DEVICE TileRows(const HeadRows<kHead, kWhole>& of, int from) : rows(of), first(from) {
    if constexpr (kKept) load_columns<Words>(rows, first, 0, words);
  }

  /// sums = product with 16 rows of `other`, starting at `other_first`.
  SIMT_DEVICE void multiply(const HeadRows<kHead, kWhole>& other, int other_first, float (&sums)[2][4]) const {
    SIMT_UNROLL
    for (int j = 0; j < 2; ++j) SIMT_UNROLL
    for (float& sum : sums[j]) sum = 0;
    if constexpr (kKept) {
      std::uint32_t other_words[kHead / 16][4];
      load_columns<Words>(other, other_first, 0, other_words);
      add_products<Words>(sums, words, other_words);
    } else {
      SIMT_LOOP
      for (int col = 0; col < kHead; col += 32) {
        std::uint32_t own_words[2][4];
        load_columns<Words>(rows, first, col, own_words);
        std::uint32_t other_words[2][4];
        load_columns<Words>(other, other_first, col, other_words);
        add_products<Words>(sums, own_words, other_words);
      }
    }
  }
};

/// sums += weights x, for 16 rows of x, starting at `first`.
template <class Words, int kHead, bool kWhole>
SIMT_DEVICE void multiply_turned(float (&sums)[kHead / 8][4], const float (&weights)[2][4],
                                 const HeadRows<kHead, kWhole>& x, int first) {
  const std::uint32_t words[4] = {
      simt::to_word(Words(), weights[0][0], weights[0][1]), simt::to_word(Words(), weights[0][2], weights[0][3]),
      simt::to_word(Words(), weights[1][0], weights[1][1]), simt::to_word(Words(), weights[1][2], weights[1][3])};
  const int col = first_col_of(lane() / 4);
  const auto row = [&](int number) { return x.row(first + lane() % 4 * 2 + number, col); };
  const typename HeadRows<kHead, kWhole>::Row rows[4] = {row(0), row(1), row(8), row(9)};
  SIMT_UNROLL
  for (int part = 0; part < kHead / 32; ++part) {
    FourFloats quads[4];
    SIMT_UNROLL
    for (int i = 0; i < 4; ++i) quads[i] = rows[i].quad(part * 32);
    SIMT_UNROLL
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t b[2] = {simt::to_word(Words(), quads[0].values[i], quads[1].values[i]),
                                  simt::to_word(Words(), quads[2].values[i], quads[3].values[i])};
      simt::multiply_tile(Words(), sums[part * 4 + i], words, b);
    }
  }
}

/// For scores of 16 rows by 16 columns: value s of tile j in a lane belongs to row row_of(s) and column col_of(j, s).
SIMT_DEVICE int row_of(int s) {
  return lane() / 4 + s / 2 * 8;
}
SIMT_DEVICE int col_of(int j, int s) {
  return j * 8 + lane() % 4 * 2 + s % 2;
}
/// Computes scores = scale * scores + biases. The functions query(j, s) and key(j, s) return the query and the key of a
/// score.
template <class Query, class Key>
SIMT_DEVICE void finish_scores(const Attention& attention, const Tile& tile, const Query& query, const Key& key,
                               float (&scores)[2][4]) {
  SIMT_UNROLL
  for (int j = 0; j < 2; ++j) SIMT_UNROLL
  for (float& score : scores[j]) score *= attention.scale;
  if (attention.bias.data == nullptr) return;
  SIMT_UNROLL
  for (int j = 0; j < 2; ++j) SIMT_UNROLL
  for (int s = 0; s < 4; ++s)
    scores[j][s] += bias_of(attention.bias, key(j, s), query(j, s) + tile.keys - tile.queries, tile.head);
}
/// Reduces over the lanes that share a row.
template <class Reduction>
SIMT_DEVICE float reduce_row(float value, Reduction reduction) {
  value = reduction(value, simt::shuffle_xor(value, 1));
  return reduction(value, simt::shuffle_xor(value, 2));
}

/// Returns which of 16 weights the dropout keeps: bit n is set if it keeps the weight of index `first` + n. Lanes i and
/// i + 16 pass the index of row i, and both get the bits of that row.
SIMT_DEVICE std::uint32_t kept_weights(const BlockDropout& dropout, std::int64_t first) {
  if (dropout.threshold == 0) return 0xFFFFU;
  const auto index = static_cast<std::uint64_t>(first);
  const auto half = static_cast<std::uint32_t>(lane()) / 16;
  std::uint32_t parts[2];
  dropout.kept({index / 8 + half, index / 8 + 2}, parts);
  std::uint32_t bits = parts[0] << (8 * half) | parts[1] << 16;
  bits |= simt::shuffle_xor(bits, 16);
  return bits >> (index % 8);
}

/// y = factors * sums for the rows of the tile that exist in the sequence. factors[r] belongs to the lane's row r.
template <bool kWhole, int kTiles>
SIMT_DEVICE void store(const float (&sums)[kTiles][4], const Target& y, int first, const Tile& tile, int rows,
                       int width, const float (&factors)[2]) {
  const int col = lane() % 4 * 4;  // first_col_of(2 t); first_col_of(2 t + 1) is 16 more
  SIMT_UNROLL
  for (int r = 0; r < 2; ++r) {
    const int row = tile.first + row_of(2 * r);
    if (row >= rows) continue;
    float* const to =
        y.value.data + std::int64_t{first + row} * static_cast<int>(y.value.stride) + tile.head * width + col;
    SIMT_UNROLL
    for (int part = 0; part < kTiles / 4; ++part) SIMT_UNROLL
    for (int c = 0; c < 2; ++c) {
      const int further = part * 32 + c * 16;
      FourFloats quad;
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) quad.values[i] = factors[r] * sums[part * 4 + i][2 * r + c];
      if constexpr (kWhole) {
        if (y.accumulate) {
          const FourFloats before = simt::load_vector<4>(to + further);
          SIMT_UNROLL
          for (int i = 0; i < 4; ++i) quad.values[i] += before.values[i];
        }
        simt::store_vector(to + further, quad);
      } else {
        SIMT_UNROLL
        for (int i = 0; i < 4; ++i)
          if (col + further + i < width)
            to[further + i] = y.accumulate ? to[further + i] + quad.values[i] : quad.values[i];
      }
    }
  }
}

/// Returns true if each head of the matrix is aligned for vectors of 4 floats, or if there is no matrix.
inline bool has_quads(const Matrix& x) {
  return reinterpret_cast<std::uintptr_t>(x.data) % sizeof(FourFloats) == 0 && x.stride % 4 == 0;
}

/// Calls function.template operator()<Words, kHead, kWhole>() for heads of this number of columns.
template <class Function>
void with_head(const Attention& attention, bool quads, const Function& function) {
  const std::int64_t width = attention.q.cols / attention.heads;
  quads = quads && has_quads(attention.q) && has_quads(attention.k) && has_quads(attention.v);
  with_words(attention.tile_type, [&]<class Words>(Words) {
    if (quads && width == 32)
      function.template operator()<Words, 32, true>();
    else if (quads && width == 64)
      function.template operator()<Words, 64, true>();
    else if (quads && width == 96)
      function.template operator()<Words, 96, true>();
    else if (quads && width == 128)
      function.template operator()<Words, 128, true>();
    else if (width <= 64)
      function.template operator()<Words, 64, false>();
    else
      function.template operator()<Words, 128, false>();
  });
}

/// Launches a warp for each tile and head.
template <class Kernel>
void for_each_tile(const Attention& attention, std::int64_t rows, const Kernel& kernel) {
  const std::int64_t tiles = tile_numbers(rows, attention.q_offsets.count - 1);
  simt::launch({blocks_of(tiles, kTileWarps) * attention.heads}, kTileWarps * kWarp, 0, kernel);
}

}  // namespace dragoman::backend::cuda::device

#include "attention_tiles.h"

// Weights are recomputed twice, once for the queries and once for the keys. So each gradient has one writer and a fixed
// order of summation.
namespace dragoman::backend::cuda::device {
namespace {

/// The log sum that the forward pass stored for a query, and the query's sum of weights times their gradients.
struct OfQuery {
  float log_sum;  ///< finite if the query sees nothing, so that scores of minus infinity have weights of 0
  float weighted;

  SIMT_DEVICE static OfQuery load(const AttentionBackward& arguments, const Tile& tile, int query) {
    const int row = tile.first_query + (query < tile.queries ? query : tile.queries - 1);
    const std::int64_t place = std::int64_t{row} * arguments.forward.heads + tile.head;
    const float log_sum = arguments.forward.log_sums[place];
    return {log_sum == -INFINITY ? 0 : log_sum, arguments.weighted[place]};
  }
};

template <class Words, int kHead, bool kWhole>
struct QueryTiles {
  static constexpr int kBlockThreads = kTileWarps * kWarp;
  static constexpr int kResidentBlocks = kHead > 64 || !kWhole ? 2 : 3;
  AttentionBackward arguments;

  SIMT_DEVICE void operator()() const {
    const Attention& attention = arguments.forward;
    const Tile tile = tile_of(attention, attention.q_offsets);
    if (tile.first >= tile.queries) return;
    using Rows = HeadRows<kHead, kWhole>;
    const Rows q(attention.q, tile.first_query, tile.queries, attention, tile.head);
    const Rows dy(arguments.dy, tile.first_query, tile.queries, attention, tile.head);
    const Rows k(attention.k, tile.first_key, tile.keys, attention, tile.head);
    const Rows v(attention.v, tile.first_key, tile.keys, attention, tile.head);
    const TileRows<Words, kHead, kWhole> queries(q, tile.first);
    const TileRows<Words, kHead, kWhole> dys(dy, tile.first);
    const BlockDropout dropout(attention.dropout);
    const int rows[2] = {tile.first + row_of(0), tile.first + row_of(2)};
    const int visible[2] = {tile.visible(attention.causal, rows[0]), tile.visible(attention.causal, rows[1])};
    const OfQuery of_rows[2] = {OfQuery::load(arguments, tile, rows[0]), OfQuery::load(arguments, tile, rows[1])};
    const int end = tile.visible_in_tile(attention.causal);
    float gradients[kHead / 8][4] = {};
    for (int first = 0; first < end; first += kTileRows) {
      const std::uint32_t kept = kept_weights(dropout, tile.weight(tile.first + lane() % kTileRows, first));
      float scores[2][4];
      queries.multiply(k, first, scores);
      float weight_gradients[2][4];
      dys.multiply(v, first, weight_gradients);
      finish_scores(
          attention, tile, [&](int, int s) { return rows[s / 2]; }, [&](int j, int s) { return first + col_of(j, s); },
          scores);
      SIMT_UNROLL
      for (int r = 0; r < 2; ++r) {
        const std::uint32_t kept_of_row = simt::shuffle(kept, lane() / 4 + 8 * r) >> (lane() % 4 * 2);
        SIMT_UNROLL
        for (int j = 0; j < 2; ++j) SIMT_UNROLL
        for (int s = 2 * r; s < 2 * r + 2; ++s) {
          const float factor = (kept_of_row >> (8 * j + s % 2) & 1U) != 0 ? dropout.scale : 0;
          const float score = first + col_of(j, s) < visible[r] ? scores[j][s] : -INFINITY;
          scores[j][s] = expf(score - of_rows[r].log_sum) * (factor * weight_gradients[j][s] - of_rows[r].weighted);
        }
      }
      multiply_turned<Words>(gradients, scores, k, first);
    }
    store<kWhole>(gradients, arguments.dq, tile.first_query, tile, tile.queries, q.width,
                  {attention.scale, attention.scale});
  }
};

/// Processes a tile of keys and values: the gradients of the keys, of the values, or of both.
template <class Words, int kHead, bool kWhole, bool kOfKeys, bool kOfValues>
struct KeyTiles {
  static constexpr int kBlockThreads = kTileWarps * kWarp;
  static constexpr int kResidentBlocks = 2;
  AttentionBackward arguments;

  SIMT_DEVICE void operator()() const {
    const Attention& attention = arguments.forward;
    const Tile tile = tile_of(attention, attention.k_offsets);
    if (tile.first >= tile.keys) return;
    using Rows = HeadRows<kHead, kWhole>;
    const Rows q(attention.q, tile.first_query, tile.queries, attention, tile.head);
    const Rows dy(arguments.dy, tile.first_query, tile.queries, attention, tile.head);
    const Rows k(attention.k, tile.first_key, tile.keys, attention, tile.head);
    const Rows v(attention.v, tile.first_key, tile.keys, attention, tile.head);
    const TileRows<Words, kHead, kWhole> keys(k, tile.first);
    const TileRows<Words, kHead, kWhole> values(v, tile.first);
    const BlockDropout dropout(attention.dropout);
    float key_gradients[kHead / 8][4] = {};
    float value_gradients[kHead / 8][4] = {};
    const int hidden = attention.causal ? tile.first - (tile.keys - tile.queries) : 0;
    for (int first = hidden < 0 ? 0 : hidden; first < tile.queries; first += kTileRows) {
      const std::uint32_t kept = kept_weights(dropout, tile.weight(first + lane() % kTileRows, tile.first));
      // `scores` becomes the weights that values were multiplied by; the other array becomes the gradients of scores.
      float scores[2][4];
      keys.multiply(q, first, scores);
      float gradients[2][4];
      if constexpr (kOfKeys) values.multiply(dy, first, gradients);
      finish_scores(
          attention, tile, [&](int j, int s) { return first + col_of(j, s); },
          [&](int, int s) { return tile.first + row_of(s); }, scores);
      SIMT_UNROLL
      for (int j = 0; j < 2; ++j) SIMT_UNROLL
      for (int c = 0; c < 2; ++c) {
        const int query = first + col_of(j, c);
        const int seen = query < tile.queries ? tile.visible(attention.causal, query) : 0;
        const OfQuery of_query = OfQuery::load(arguments, tile, query);
        const std::uint32_t kept_of_query = simt::shuffle(kept, col_of(j, c)) >> (lane() / 4);
        SIMT_UNROLL
        for (int s = c; s < 4; s += 2) {
          const float factor = (kept_of_query >> (s / 2 * 8) & 1U) != 0 ? dropout.scale : 0;
          const float score = tile.first + row_of(s) < seen ? scores[j][s] : -INFINITY;
          const float weight = expf(score - of_query.log_sum);
          scores[j][s] = factor * weight;
          if constexpr (kOfKeys) gradients[j][s] = weight * (factor * gradients[j][s] - of_query.weighted);
        }
      }
      if constexpr (kOfValues) multiply_turned<Words>(value_gradients, scores, dy, first);
      if constexpr (kOfKeys) multiply_turned<Words>(key_gradients, gradients, q, first);
    }
    if (kOfValues && arguments.dv.value.data != nullptr)
      store<kWhole>(value_gradients, arguments.dv, tile.first_key, tile, tile.keys, q.width, {1, 1});
    if (kOfKeys && arguments.dk.value.data != nullptr)
      store<kWhole>(key_gradients, arguments.dk, tile.first_key, tile, tile.keys, q.width,
                    {attention.scale, attention.scale});
  }
};

}  // namespace

void attention_of_tiles_backward(const AttentionBackward& arguments) {
  const Attention& attention = arguments.forward;
  const bool quads = has_quads(arguments.dy) && has_quads(arguments.dq.value) && has_quads(arguments.dk.value) &&
                     has_quads(arguments.dv.value);
  with_head(attention, quads, [&]<class Words, int kHead, bool kWhole>() {
    if (arguments.dq.value.data != nullptr)
      for_each_tile(attention, attention.q.rows, QueryTiles<Words, kHead, kWhole>{arguments});
    const bool of_keys = arguments.dk.value.data != nullptr;
    const bool of_values = arguments.dv.value.data != nullptr;
    if constexpr (kHead <= 64) {
      if (of_keys || of_values)
        for_each_tile(attention, attention.k.rows, KeyTiles<Words, kHead, kWhole, true, true>{arguments});
    } else {  // both together do not fit into registers
      if (of_keys) for_each_tile(attention, attention.k.rows, KeyTiles<Words, kHead, kWhole, true, false>{arguments});
      if (of_values) for_each_tile(attention, attention.k.rows, KeyTiles<Words, kHead, kWhole, false, true>{arguments});
    }
  });
}

}  // namespace dragoman::backend::cuda::device

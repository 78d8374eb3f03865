#include "attention_tiles.h"

namespace dragoman::backend::cuda::device {
namespace {

/// Processes a tile of queries in one pass over the keys.
template <class Words, int kHead, bool kWhole>
struct ForwardTiles {
  static constexpr int kBlockThreads = kTileWarps * kWarp;
  static constexpr int kResidentBlocks = kHead > 64 || !kWhole ? 2 : 3;
  Attention attention;

  SIMT_DEVICE void operator()() const {
    const Tile tile = tile_of(attention, attention.q_offsets);
    if (tile.first >= tile.queries) return;
    using Rows = HeadRows<kHead, kWhole>;
    const Rows q(attention.q, tile.first_query, tile.queries, attention, tile.head);
    const Rows k(attention.k, tile.first_key, tile.keys, attention, tile.head);
    const Rows v(attention.v, tile.first_key, tile.keys, attention, tile.head);
    const TileRows<Words, kHead, kWhole> queries(q, tile.first);
    const BlockDropout dropout(attention.dropout);
    const int rows[2] = {tile.first + row_of(0), tile.first + row_of(2)};
    const int visible[2] = {tile.visible(attention.causal, rows[0]), tile.visible(attention.causal, rows[1])};
    const int end = tile.visible_in_tile(attention.causal);
    float maxima[2] = {-INFINITY, -INFINITY};
    float sums[2] = {0, 0};
    float outputs[kHead / 8][4] = {};
    for (int first = 0; first < end; first += kTileRows) {
      const std::uint32_t kept = kept_weights(dropout, tile.weight(tile.first + lane() % kTileRows, first));
      float scores[2][4];
      queries.multiply(k, first, scores);
      finish_scores(
          attention, tile, [&](int, int s) { return rows[s / 2]; }, [&](int j, int s) { return first + col_of(j, s); },
          scores);
      SIMT_UNROLL
      for (int r = 0; r < 2; ++r) {
        float now = maxima[r];
        SIMT_UNROLL
        for (int j = 0; j < 2; ++j) SIMT_UNROLL
        for (int s = 2 * r; s < 2 * r + 2; ++s) {
          if (first + col_of(j, s) >= visible[r]) scores[j][s] = -INFINITY;
          now = fmaxf(now, scores[j][s]);
        }
        now = reduce_row(now, Maximum());
        const float least_finite = now == -INFINITY ? 0 : now;
        const float correction = expf(maxima[r] - least_finite);
        maxima[r] = now;
        sums[r] *= correction;
        SIMT_UNROLL
        for (int c = 0; c < kHead / 8; ++c) {
          outputs[c][2 * r] *= correction;
          outputs[c][2 * r + 1] *= correction;
        }
        const std::uint32_t kept_of_row = simt::shuffle(kept, lane() / 4 + 8 * r) >> (lane() % 4 * 2);
        SIMT_UNROLL
        for (int j = 0; j < 2; ++j) SIMT_UNROLL
        for (int s = 2 * r; s < 2 * r + 2; ++s) {
          const float weight = expf(scores[j][s] - least_finite);
          sums[r] += weight;
          scores[j][s] = weight * ((kept_of_row >> (8 * j + s % 2) & 1U) != 0 ? dropout.scale : 0);
        }
      }
      multiply_turned<Words>(outputs, scores, v, first);
    }
    float factors[2];
    SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      sums[r] = reduce_row(sums[r], Sum());
      factors[r] = sums[r] == 0 ? 0 : 1 / sums[r];
      if (lane() % 4 == 0 && rows[r] < tile.queries && attention.log_sums != nullptr)
        attention.log_sums[std::int64_t{tile.first_query + rows[r]} * attention.heads + tile.head] =
            maxima[r] + logf(sums[r]);
    }
    store<kWhole>(outputs, {attention.y, false}, tile.first_query, tile, tile.queries, q.width, factors);
    if constexpr (kWhole)
      if (attention.words.data != nullptr) store_words<Words>(outputs, tile, q.width, factors);
  }

 private:
  /// Stores what store() does, as 16-bit values.
  template <class To>
  SIMT_DEVICE void store_words(const float (&sums)[kHead / 8][4], const Tile& tile, int width,
                               const float (&factors)[2]) const {
    SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      const int row = tile.first + row_of(2 * r);
      if (row >= tile.queries) continue;
      std::uint32_t* const to = &at(attention.words, tile.first_query + row, (tile.head * width + lane() % 4 * 4) / 2);
      SIMT_UNROLL
      for (int part = 0; part < kHead / 32; ++part) SIMT_UNROLL
      for (int c = 0; c < 2; ++c) {
        const auto value = [&](int i) { return factors[r] * sums[part * 4 + i][2 * r + c]; };
        simt::store_vector(to + part * 16 + c * 8, simt::Vector<std::uint32_t, 2>{{word_of(To(), value(0), value(1)),
                                                                                   word_of(To(), value(2), value(3))}});
      }
    }
  }
};

}  // namespace

void attention_of_tiles(const Attention& attention) {
  with_head(attention, has_quads(attention.y), [&]<class Words, int kHead, bool kWhole>() {
    for_each_tile(attention, attention.q.rows, ForwardTiles<Words, kHead, kWhole>{attention});
    if (!kWhole && attention.words.data != nullptr) narrow_words(attention.tile_type, attention.y, attention.words);
  });
}

}  // namespace dragoman::backend::cuda::device

#include "shortlist_tokens.h"
#include "products/shortlist_outputs.h"
#include "kernels.h"
#include "shortlist_logits.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <dragoman/core/parallel.h>

namespace dragoman::backend::cpu {
namespace {

/// Rows that are processed together for each panel.
constexpr std::int64_t kShortlistTileRows = 128;

class ShortlistProjection {
 public:
  ShortlistProjection(Context& context, const ops::ProjectShortlistTopKArguments& arguments)
      : context_(context),
        top_k_(arguments.top_k),
        shortlist_columns_(arguments.shortlist_columns),
        outputs_(shortlist_of(*arguments.outputs)),
        panels_(outputs_.panels().first(static_cast<std::size_t>(arguments.columns / outputs_.panel()))),
        vocabulary_(top_k_.packed->rows()) {}

  void run() {
    const std::int64_t rows = top_k_.hidden.rows;
    for (std::int64_t r = 0; r < rows; ++r)
      longest_ = std::max(longest_, std::int64_t{top_k_.shortlist_of_row[r].end - top_k_.shortlist_of_row[r].begin});
    const tensor::ScratchScope scratch(context_.arena());
    const std::int64_t count = (rows + kShortlistTileRows - 1) / kShortlistTileRows;
    auto* tiles = allocate<Tile>(count);
    for (std::int64_t i = 0; i < count; ++i)
      tiles[i] = make_tile(i * kShortlistTileRows, std::min(rows, (i + 1) * kShortlistTileRows));
    context_.executor().for_each(count, [&](std::int64_t i) { run_tile(tiles[i]); });
  }

 private:
  /// Rows [begin, end) and their memory.
  struct Tile {
    std::int64_t begin;
    std::int64_t end;
    RowState* states;
    std::int32_t* next;  ///< the next of each row's columns
    float* logits;       ///< of the tokens in each row's shortlist
    float* product;
    std::uint8_t* numbers;
    float* scales;
    float* pads;
  };

  template <class T>
  T* allocate(std::int64_t count) {
    return static_cast<T*>(context_.arena().allocate(static_cast<std::size_t>(count) * sizeof(T)));
  }

  Tile make_tile(std::int64_t begin, std::int64_t end) {
    const std::int64_t rows = end - begin;
    const PackedMatrix& matrix = panels_.front().matrix;
    const std::int64_t inputs = matrix.inputs();
    const std::int64_t with_padding = rows + matrix.row_buckets().back();
    Tile tile{.begin = begin,
              .end = end,
              .states = allocate<RowState>(rows),
              .next = allocate<std::int32_t>(rows),
              .logits = allocate<float>(rows * longest_),
              .product = allocate<float>(rows * matrix.outputs()),
              .numbers = allocate<std::uint8_t>(with_padding * inputs),
              .scales = allocate<float>(with_padding),
              .pads = allocate<float>(static_cast<std::int64_t>(multiply_scratch(panels_.front())))};
    auto* candidates = allocate<Candidate>(rows * top_k_.k);
    for (std::int64_t r = 0; r < rows; ++r) {
      tile.states[r] = {.candidates = candidates + r * top_k_.k};
      tile.next[r] = top_k_.shortlist_of_row[begin + r].begin;
    }
    return tile;
  }

  void run_tile(const Tile& tile) const {
    const FloatRows hidden{top_k_.hidden.row<float>(tile.begin), top_k_.hidden.stride, tile.end - tile.begin,
                           top_k_.hidden.cols};
    const bool numbers = tensor::is_int8(panels_.front().type);
    if (numbers) quantize(hidden, panels_.front().type, tile.numbers, tile.scales);
    for (std::size_t p = 0; p < panels_.size(); ++p) {
      const ProductRows place{tile.product, panels_[p].matrix.outputs()};
      const auto keep = [&](std::int64_t first, std::int64_t count, const ProductRows& product) {
        for (std::int64_t i = 0; i < count; ++i) keep_shortlist(tile, first + i, p, product, i);
      };
      if (numbers)
        multiply_numbers(panels_[p], tile.numbers, tile.scales, hidden.rows, place, tile.pads, keep);
      else
        multiply_rows(panels_[p], hidden, place, tile.pads, keep);
    }
    for (std::int64_t r = tile.begin; r < tile.end; ++r)
      finish(r, tile.logits + (r - tile.begin) * longest_, tile.states[r - tile.begin]);
  }

  /// Keeps the logits of row `r` in the tile, which is row `i` in the panel's product.
  void keep_shortlist(const Tile& tile, std::int64_t r, std::size_t p, const ProductRows& product,
                      std::int64_t i) const {
    const std::int64_t width = outputs_.panel();
    const std::int64_t first = static_cast<std::int64_t>(p) * width;
    const std::int32_t end = top_k_.shortlist_of_row[tile.begin + r].end;
    std::int32_t& next = tile.next[r];
    if (next == end || shortlist_columns_[next].column >= first + width) return;
    float* logits = product.data + i * product.stride;
    make_logits(product.dequantization.from_row(i), top_k_.bias.empty() ? nullptr : outputs_.bias() + first, width,
                logits);
    float* kept = tile.logits + r * longest_;
    for (; next < end && shortlist_columns_[next].column < first + width; ++next)
      kept[shortlist_columns_[next].place] = logits[shortlist_columns_[next].column - first];
  }

  void finish(std::int64_t r, float* logits, RowState& state) const {
    const bool noisy = !top_k_.noise.empty() && top_k_.noise[r].drawn;
    const std::span<const std::int32_t> tokens = shortlist_of(top_k_, r);
    const float inverse_temperature = top_k_.temperatures.empty() ? 1 : static_cast<float>(1 / top_k_.temperatures[r]);
    take_shortlist({.logits = logits,
                    .tokens = tokens,
                    .edits = of_row(top_k_.edits, r),
                    .inverse_temperature = inverse_temperature,
                    .noise = noisy ? &top_k_.noise[r] : nullptr,
                    .vocabulary = vocabulary_,
                    .panel_width = panel_width(vocabulary_),
                    .k = top_k_.k},
                   state);
    finish_row(state, top_k_.k, noisy, top_k_.tokens.row<std::int32_t>(r), top_k_.log_probabilities.row<float>(r));
    for (const ops::ScoredToken& scored : of_row(top_k_.scored, r)) {
      const auto found = std::ranges::lower_bound(tokens, scored.token);
      const bool is_listed = found != tokens.end() && *found == scored.token;
      const float logit = is_listed ? logits[found - tokens.begin()] : -std::numeric_limits<float>::infinity();
      top_k_.scored_log_probabilities.as<float>()[&scored - top_k_.scored.span().data()] =
          static_cast<float>(static_cast<double>(logit) - (state.maximum + std::log(state.sum)));
    }
  }

  /// Returns the edits or scored tokens of a row. The list is sorted by row.
  template <class Entry>
  static std::span<const Entry> of_row(ops::DeviceArray<Entry> all, std::int64_t r) {
    const std::span entries = all.span();
    const auto row = static_cast<std::int32_t>(r);
    const auto first = std::ranges::lower_bound(entries, row, {}, &Entry::row);
    return {first, std::ranges::upper_bound(first, entries.end(), row, {}, &Entry::row)};
  }

  Context& context_;
  const ops::ProjectTopKArguments& top_k_;
  ops::DeviceArray<ops::ShortlistColumn> shortlist_columns_;
  const ShortlistPanels& outputs_;
  std::span<const Panel> panels_;
  std::int64_t vocabulary_;
  std::int64_t longest_ = 0;  ///< length of the longest shortlist
};

}  // namespace

template <>
void kernel(Context& context, const ops::ProjectShortlistTopKArguments& arguments) {
  ShortlistProjection(context, arguments).run();
}

}  // namespace dragoman::backend::cpu

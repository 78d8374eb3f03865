#include "shortlist_tokens.h"
#include "kernels.h"
#include "products/finished_product.h"
#include "top_k.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <dragoman/ops/project_top_k.h>

namespace dragoman::backend::cpu {
namespace {

/// The number of rows whose logits for one panel fit into the second-level cache.
constexpr std::int64_t kTileRows = 128;
/// The largest number of rows for which all panels, each with separate memory, may be multiplied in parallel.
constexpr std::int64_t kMaxSharedPanelRows = 16;
/// The number of tiles processed at a time, which limits the scratch memory.
constexpr std::int64_t kMaxTiles = 16;

std::int64_t blocks_of(std::int64_t count, std::int64_t block) {
  return (count + block - 1) / block;
}

template <class T>
T* allocate(Context& context, std::int64_t count) {
  return static_cast<T*>(context.arena().allocate(static_cast<std::size_t>(count) * sizeof(T)));
}

/// Returns the edits or scored tokens of tokens [begin, end) in row r.
template <class Entry>
std::span<const Entry> of_tokens(ops::DeviceArray<Entry> all, std::int64_t r, std::int64_t begin, std::int64_t end) {
  const auto place = [](const Entry& entry) { return std::pair<std::int64_t, std::int64_t>(entry.row, entry.token); };
  const std::span entries = all.span();
  const auto first = std::ranges::lower_bound(entries, std::pair(r, begin), {}, place);
  const auto last = std::ranges::lower_bound(first, entries.end(), std::pair(r, end), {}, place);
  return {first, last};
}

class Projection {
 public:
  Projection(Context& context, const ops::ProjectTopKArguments& arguments)
      : context_(context),
        arguments_(arguments),
        vocabulary_(arguments.packed ? arguments.packed->rows() : arguments.weight.rows),
        width_(panel_width(vocabulary_)) {}

  void run() {
    const std::int64_t rows = arguments_.hidden.rows;
    for (std::int64_t begin = 0; begin < rows; begin += kMaxTiles * kTileRows)
      run_group(begin, std::min(rows, begin + kMaxTiles * kTileRows));
  }

 private:
  /// Processes rows [begin, end): all rows for one panel of the vocabulary, then for the next.
  void run_group(std::int64_t begin, std::int64_t end) {
    const tensor::ScratchScope scratch(context_.arena());
    const std::int64_t rows = end - begin;
    states_ = make_states(rows);
    if (shares_panels(rows)) {
      run_shared_panels(begin, end);
    } else {
      tile_floats_ = kTileRows * width_;
      tiles_ = allocate<float>(context_, blocks_of(rows, kTileRows) * tile_floats_);
      for (std::int64_t first = 0; first < vocabulary_; first += width_)
        if (!share_panel(begin, end, first)) run_panel(begin, end, first);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      finish_row(states_[r], arguments_.k, noise_of(begin + r) != nullptr,
                 arguments_.tokens.row<std::int32_t>(begin + r), arguments_.log_probabilities.row<float>(begin + r));
      finish_wanted(begin + r, states_[r]);
    }
  }

  RowState* make_states(std::int64_t count) {
    auto* states = allocate<RowState>(context_, count);
    auto* candidates = allocate<Candidate>(context_, count * arguments_.k);
    for (std::int64_t r = 0; r < count; ++r) states[r] = {.candidates = candidates + r * arguments_.k};
    return states;
  }

  /// Returns true if there are few rows and many panels, which several threads process in parallel.
  bool shares_panels(std::int64_t rows) const {
    return rows <= kMaxSharedPanelRows && vocabulary_ > width_ && arguments_.packed != nullptr &&
           context_.executor().threads() > 1;
  }

  /// Keeps the results of each panel separately, and then combines them in the order of the panels.
  void run_shared_panels(std::int64_t begin, std::int64_t end) {
    const std::span<const Panel> panels = panels_of(*arguments_.packed).panels();
    const std::int64_t rows = end - begin;
    const auto count = static_cast<std::int64_t>(panels.size());
    const auto pad_floats = static_cast<std::int64_t>(multiply_scratch(panels.front(), rows));
    auto* pads = allocate<float>(context_, count * pad_floats);
    RowState* states = make_states(count * rows);
    const FloatRows hidden{arguments_.hidden.row<float>(begin), arguments_.hidden.stride, rows, arguments_.hidden.cols};
    context_.executor().for_each(count, [&](std::int64_t p) {
      const Panel& weights = panels[static_cast<std::size_t>(p)];
      multiply_rows(weights, hidden, {nullptr, weights.matrix.outputs()}, pads + p * pad_floats,
                    [&](std::int64_t first, std::int64_t products, const ProductRows& product) {
                      for (std::int64_t r = 0; r < products; ++r)
                        take_row(begin + first + r, {p * width_, weights.matrix.outputs(), bias_from(p * width_)},
                                 product, r, states[p * rows + first + r]);
                    });
    });
    for (std::int64_t p = 0; p < count; ++p)
      for (std::int64_t r = 0; r < rows; ++r) add_panel(states[p * rows + r], arguments_.k, states_[r]);
  }

  /// Processes one panel on all threads, first its products and then its rows. Returns false if that is not worthwhile.
  bool share_panel(std::int64_t begin, std::int64_t end, std::int64_t first_token) {
    if (end - begin > kTileRows || arguments_.packed == nullptr || context_.executor().threads() == 1) return false;
    const tensor::ScratchScope scratch(context_.arena());
    std::optional<Panel> none;
    const Panel& weights = panel(first_token, none);
    const std::int64_t outputs = weights.matrix.outputs();
    auto* pads = allocate<float>(context_, static_cast<std::int64_t>(multiply_scratch(weights, end - begin)));
    const FloatRows hidden{arguments_.hidden.row<float>(begin), arguments_.hidden.stride, end - begin,
                           arguments_.hidden.cols};
    ProductRows logits{tiles_, outputs};
    const bool shared = multiply_rows_shared(context_.executor(), weights, hidden, pads,
                                             [&](const Tile& tile, const ProductRows& product) {
                                               for (std::int64_t r = tile.row_begin; r < tile.row_end; ++r)
                                                 std::copy_n(product.data + (r - tile.row_begin) * product.stride,
                                                             tile.width(), logits.data + r * outputs + tile.col_begin);
                                               if (tile.col_begin == 0) logits.dequantization = product.dequantization;
                                             });
    if (!shared) return false;
    context_.executor().for_each(end - begin, [&](std::int64_t r) {
      take_row(begin + r, {first_token, outputs, bias_from(first_token)}, logits, r, states_[r]);
    });
    return true;
  }

  void run_panel(std::int64_t begin, std::int64_t end, std::int64_t first_token) {
    const tensor::ScratchScope scratch(context_.arena());
    std::optional<Panel> packed_now;
    const Panel& weights = panel(first_token, packed_now);
    const PackedMatrix& matrix = weights.matrix;
    const auto pad_floats = static_cast<std::int64_t>(multiply_scratch(weights));
    auto* pads = allocate<float>(context_, blocks_of(end - begin, kTileRows) * pad_floats);
    core::for_each_range(context_.executor(), end - begin, kTileRows, [&](std::int64_t row, std::int64_t row_end) {
      const std::int64_t tile = row / kTileRows;
      const FloatRows hidden{arguments_.hidden.row<float>(begin + row), arguments_.hidden.stride, row_end - row,
                             arguments_.hidden.cols};
      const ProductRows logits{tiles_ + tile * tile_floats_, matrix.outputs()};
      const auto take_rows = [&](std::int64_t first, std::int64_t count, const ProductRows& product,
                                 const float* bias) {
        for (std::int64_t r = 0; r < count; ++r)
          take_row(begin + row + first + r, {first_token, matrix.outputs(), bias}, product, r,
                   states_[row + first + r]);
      };
      if (!matrix.finishes())
        return multiply_rows(weights, hidden, logits, pads + tile * pad_floats,
                             [&](std::int64_t first, std::int64_t count, const ProductRows& product) {
                               take_rows(first, count, product, bias_from(first_token));
                             });
      multiply_and_finish(weights, hidden,
                          {.bias = bias_from(first_token),
                           .y = logits.data,
                           .y_stride = logits.stride,
                           .rows = hidden.rows,
                           .cols = matrix.outputs()},
                          pads + tile * pad_floats);
      take_rows(0, hidden.rows, logits, nullptr);
    });
  }

  /// Returns the packed panel that begins at `first_token`. A plain weight is packed here. That takes a pass over the
  /// weight, and gives the same bits as a weight that was packed before.
  const Panel& panel(std::int64_t first_token, std::optional<Panel>& packed_now) {
    if (arguments_.packed != nullptr)
      return panels_of(*arguments_.packed).panels()[static_cast<std::size_t>(first_token / width_)];
    const std::int64_t outputs = std::min(width_, vocabulary_ - first_token);
    void* storage = context_.arena().allocate(panel_bytes(arguments_.type, outputs, arguments_.hidden.cols));
    return packed_now.emplace(Panel::pack(arguments_.weight, first_token, outputs, arguments_.type, storage));
  }

  /// Returns nullptr if the row's candidates are ranked without noise.
  const ops::RowNoise* noise_of(std::int64_t r) const {
    return arguments_.noise.empty() || !arguments_.noise[r].drawn ? nullptr : &arguments_.noise[r];
  }

  /// Returns the bias of the tokens from `first_token` on; nullptr if there is none.
  const float* bias_from(std::int64_t first_token) const {
    return arguments_.bias.empty() ? nullptr : arguments_.bias.as<float>() + first_token;
  }

  /// The tokens of a panel, and the bias that their products do not yet have.
  struct PanelTokens {
    std::int64_t first;
    std::int64_t count;
    const float* bias;
  };

  void take_row(std::int64_t r, const PanelTokens& tokens, const ProductRows& product, std::int64_t row,
                RowState& state) const {
    const auto [first_token, count, bias] = tokens;
    float* logits = product.data + row * product.stride;
    take_panel({.logits = logits,
                .dequantization = product.dequantization.from_row(row),
                .bias = bias,
                .first_token = first_token,
                .count = count,
                .shortlist = shortlist_of(arguments_, r),
                .edits = of_tokens(arguments_.edits, r, first_token, first_token + count),
                .inverse_temperature =
                    arguments_.temperatures.empty() ? 1 : static_cast<float>(1 / arguments_.temperatures[r]),
                .noise = noise_of(r),
                .vocabulary = vocabulary_,
                .k = arguments_.k},
               state);
    for (const ops::ScoredToken& scored : of_tokens(arguments_.scored, r, first_token, first_token + count))
      scored_of(scored) = logits[scored.token - first_token];
  }

  /// The edited and tempered logit, until the row is finished.
  float& scored_of(const ops::ScoredToken& scored) const {
    return arguments_.scored_log_probabilities.as<float>()[&scored - arguments_.scored.span().data()];
  }

  void finish_wanted(std::int64_t r, const RowState& state) const {
    for (const ops::ScoredToken& scored : of_tokens(arguments_.scored, r, 0, vocabulary_)) {
      float& value = scored_of(scored);
      value = static_cast<float>(static_cast<double>(value) - (state.maximum + std::log(state.sum)));
    }
  }

  Context& context_;
  const ops::ProjectTopKArguments& arguments_;
  std::int64_t vocabulary_;
  std::int64_t width_;  ///< of a panel
  RowState* states_ = nullptr;
  float* tiles_ = nullptr;
  std::int64_t tile_floats_ = 0;
};

}  // namespace

template <>
void kernel(Context& context, const ops::ProjectTopKArguments& arguments) {
  Projection(context, arguments).run();
}

}  // namespace dragoman::backend::cpu

#include "access.h"

#include <cmath>

// A block goes through the queries of one sequence, one query for each warp at a time. The losses of one layer are a
// small part of a step, so this is fast enough.
namespace dragoman::backend::cuda::device {
namespace {

struct AlignmentLoss {
  AlignmentLossRows arguments;

  SIMT_DEVICE void operator()() const {
    const std::int64_t sequence = simt::block_index();
    const std::int64_t first_query = arguments.q_offsets.data[sequence];
    const std::int64_t queries = arguments.q_offsets.data[sequence + 1] - first_query;
    const std::int64_t keys = arguments.k_offsets.data[sequence + 1] - arguments.k_offsets.data[sequence];
    for (std::int64_t i = simt::thread_index() / kWarp; i < queries; i += kWarps)
      guide({arguments.weight_offsets[sequence] + i * keys, queries * keys, keys}, first_query + i);
  }

 private:
  /// The positions of a query's weights.
  struct Row {
    std::int64_t first;
    std::int64_t head_step;
    std::int64_t keys;
  };

  static SIMT_DEVICE int lane() { return simt::thread_index() % kWarp; }

  SIMT_DEVICE double mean(const Row& row, std::int64_t key) const {
    double sum = 0;
    for (std::int64_t h = 0; h < arguments.guided_heads; ++h)
      sum += arguments.weights[row.first + h * row.head_step + key];
    return sum / arguments.guided_heads;
  }

  /// Returns the target probability of a key.
  static SIMT_DEVICE double wanted_of(const std::int32_t* links, std::int64_t count, std::int64_t key) {
    for (std::int64_t l = 0; l < count; ++l)
      if (links[l] == key) return 1 / static_cast<double>(count);
    return 0;
  }

  SIMT_DEVICE void guide(const Row& row, std::int64_t query) const {
    const std::int32_t* const links = arguments.links + arguments.link_offsets[query];
    const std::int64_t count = arguments.link_offsets[query + 1] - arguments.link_offsets[query];
    double loss = 0;
    double mass = 0;
    for (std::int64_t j = lane(); j < row.keys && count > 0; j += kWarp) {
      const double wanted = wanted_of(links, count, j);
      if (wanted == 0 && arguments.cost != ops::AlignmentCost::kMeanSquaredError) continue;
      const double weight = mean(row, j);
      mass += wanted * weight;
      loss += arguments.cost == ops::AlignmentCost::kMeanSquaredError ? (weight - wanted) * (weight - wanted) / 2
                                                                      : -wanted * log(weight + ops::kAlignmentEpsilon);
    }
    loss = reduce_warp(loss, Sum());
    mass = reduce_warp(mass, Sum());
    if (count > 0 && arguments.cost == ops::AlignmentCost::kMultiplication) loss = -log(mass + ops::kAlignmentEpsilon);
    if (lane() == 0) arguments.losses[query] = loss;
    if (arguments.gradient == nullptr) return;
    for (std::int64_t j = lane(); j < row.keys; j += kWarp) {
      const auto slope = static_cast<float>(count == 0 ? 0 : slope_at(row, j, wanted_of(links, count, j), mass));
      for (std::int64_t h = 0; h < arguments.heads; ++h)
        arguments.gradient[row.first + h * row.head_step + j] = h < arguments.guided_heads ? slope : 0;
    }
  }

  /// Returns the derivative of the loss with respect to the weight of one head.
  SIMT_DEVICE double slope_at(const Row& row, std::int64_t key, double wanted, double mass) const {
    const double factor = *arguments.gradient_scale / arguments.guided_heads;
    switch (arguments.cost) {
      case ops::AlignmentCost::kMeanSquaredError:
        return factor * (mean(row, key) - wanted);
      case ops::AlignmentCost::kMultiplication:
        return -factor * wanted / (mass + ops::kAlignmentEpsilon);
      case ops::AlignmentCost::kCrossEntropy:
        break;
    }
    return wanted == 0 ? 0 : -factor * wanted / (mean(row, key) + ops::kAlignmentEpsilon);
  }
};

}  // namespace

void alignment_loss_rows(const AlignmentLossRows& arguments) {
  weight_offsets(arguments.q_offsets, arguments.k_offsets, arguments.heads, arguments.weight_offsets);
  for_each_row(arguments.q_offsets.count - 1, 0, AlignmentLoss{arguments});
}

}  // namespace dragoman::backend::cuda::device

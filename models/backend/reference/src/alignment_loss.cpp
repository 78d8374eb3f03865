#include "kernels.h"
#include "matrix.h"

#include <cmath>
#include <vector>

#include <dragoman/ops/alignment_loss.h>

namespace dragoman::backend::reference {
namespace {

/// Returns the loss for a row's mean weights and target weights. Replaces the mean weights by d(loss)/d(mean).
double alignment_loss(ops::AlignmentCost cost, std::vector<double>& mean, const std::vector<double>& wanted) {
  double loss = 0;
  double mass = 0;
  for (std::size_t j = 0; j < mean.size(); ++j) mass += wanted[j] * mean[j];
  for (std::size_t j = 0; j < mean.size(); ++j) {
    const double difference = mean[j] - wanted[j];
    switch (cost) {
      case ops::AlignmentCost::kCrossEntropy:
        loss -= wanted[j] * std::log(mean[j] + ops::kAlignmentEpsilon);
        mean[j] = -wanted[j] / (mean[j] + ops::kAlignmentEpsilon);
        break;
      case ops::AlignmentCost::kMeanSquaredError:
        loss += difference * difference / 2;
        mean[j] = difference;
        break;
      case ops::AlignmentCost::kMultiplication:
        mean[j] = -wanted[j] / (mass + ops::kAlignmentEpsilon);
        break;
    }
  }
  return cost == ops::AlignmentCost::kMultiplication ? -std::log(mass + ops::kAlignmentEpsilon) : loss;
}

}  // namespace

template <>
void kernel(Context&, const ops::AlignmentLossRowsArguments& arguments) {
  constexpr std::string_view kOp = "alignment_loss_rows";
  const Matrix weights(arguments.weights, kOp), losses(arguments.losses, kOp), gradient(arguments.gradient, kOp);
  if (gradient) gradient.fill(0);
  losses.fill(0);
  std::int64_t before = 0;
  for (std::int64_t b = 0; b + 1 < arguments.q_offsets.size(); ++b) {
    const std::int64_t queries = arguments.q_offsets[b + 1] - arguments.q_offsets[b];
    const std::int64_t keys = arguments.k_offsets[b + 1] - arguments.k_offsets[b];
    const auto index = [&](std::int64_t head, std::int64_t query, std::int64_t key) {
      return before + (head * queries + query) * keys + key;
    };
    for (std::int64_t i = 0; i < queries; ++i) {
      const std::int64_t row = arguments.q_offsets[b] + i;
      const std::int64_t first = arguments.link_offsets[row];
      const std::int64_t links = arguments.link_offsets[row + 1] - first;
      if (links == 0) continue;
      std::vector<double> wanted(static_cast<std::size_t>(keys));
      for (std::int64_t l = 0; l < links; ++l)
        wanted[static_cast<std::size_t>(arguments.links[first + l])] += 1.0 / static_cast<double>(links);
      std::vector<double> mean(static_cast<std::size_t>(keys));
      for (std::int64_t h = 0; h < arguments.guided_heads; ++h)
        for (std::int64_t j = 0; j < keys; ++j)
          mean[static_cast<std::size_t>(j)] += weights(0, index(h, i, j)) / arguments.guided_heads;
      losses(0, row) = alignment_loss(arguments.cost, mean, wanted);
      if (!gradient) continue;
      for (std::int64_t h = 0; h < arguments.guided_heads; ++h)
        for (std::int64_t j = 0; j < keys; ++j)
          gradient(0, index(h, i, j)) =
              arguments.gradient_scale[0] * mean[static_cast<std::size_t>(j)] / arguments.guided_heads;
    }
    before += arguments.heads * queries * keys;
  }
}

}  // namespace dragoman::backend::reference

#include <algorithm>
#include <cmath>

#include "kernels.h"

#include <dragoman/core/parallel.h>
#include <dragoman/ops/alignment_loss.h>

// Plain loops suffice: only the few weights that have links are read, in one layer of a model.
namespace dragoman::backend::cpu {
namespace {

/// Sequences per block of work.
constexpr std::int64_t kSequencesPerBlock = 8;

/// The weights of one query and their gradients. The next head is `head_step` further.
struct GuidedRow {
  const float* weights;
  float* gradient;  ///< zeros on entry; nullptr: not needed
  std::int64_t head_step;
  std::int64_t keys;
  int heads;

  double mean(std::int64_t key) const {
    double sum = 0;
    for (std::int64_t h = 0; h < heads; ++h) sum += static_cast<double>(weights[h * head_step + key]);
    return sum / heads;
  }
  /// Adds to the gradient of the mean at a key.
  void add(std::int64_t key, double slope) const {
    if (gradient == nullptr) return;
    for (std::int64_t h = 0; h < heads; ++h) gradient[h * head_step + key] += static_cast<float>(slope / heads);
  }
};

double cross_entropy(const GuidedRow& row, std::span<const std::int32_t> links, double scale) {
  const double wanted = 1 / static_cast<double>(links.size());
  double loss = 0;
  for (const std::int32_t key : links) {
    const double weight = row.mean(key) + ops::kAlignmentEpsilon;
    loss -= wanted * std::log(weight);
    row.add(key, -scale * wanted / weight);
  }
  return loss;
}

/// Links name different keys. So (w - a)^2 = w^2 - 2 a w + a^2 can be added up link by link.
double squared_error(const GuidedRow& row, std::span<const std::int32_t> links, double scale) {
  const double wanted = 1 / static_cast<double>(links.size());
  double loss = 0;
  for (std::int64_t key = 0; key < row.keys; ++key) {
    const double weight = row.mean(key);
    loss += weight * weight / 2;
    row.add(key, scale * weight);
  }
  for (const std::int32_t key : links) {
    loss += wanted * (wanted / 2 - row.mean(key));
    row.add(key, -scale * wanted);
  }
  return loss;
}

double multiplication(const GuidedRow& row, std::span<const std::int32_t> links, double scale) {
  const double wanted = 1 / static_cast<double>(links.size());
  double mass = ops::kAlignmentEpsilon;
  for (const std::int32_t key : links) mass += wanted * row.mean(key);
  for (const std::int32_t key : links) row.add(key, -scale * wanted / mass);
  return -std::log(mass);
}

double loss_of(ops::AlignmentCost cost, const GuidedRow& row, std::span<const std::int32_t> links, double scale) {
  switch (cost) {
    case ops::AlignmentCost::kMeanSquaredError:
      return squared_error(row, links, scale);
    case ops::AlignmentCost::kMultiplication:
      return multiplication(row, links, scale);
    case ops::AlignmentCost::kCrossEntropy:
      break;
  }
  return cross_entropy(row, links, scale);
}

void guide_sequence(const ops::AlignmentLossRowsArguments& arguments, std::int64_t sequence,
                    std::int64_t first_weight) {
  const std::int64_t first_query = arguments.q_offsets[sequence];
  const std::int64_t queries = arguments.q_offsets[sequence + 1] - first_query;
  const std::int64_t keys = arguments.k_offsets[sequence + 1] - arguments.k_offsets[sequence];
  const bool differentiate = !arguments.gradient.empty();
  const double scale = differentiate ? arguments.gradient_scale[0] : 0;
  float* const gradient = differentiate ? arguments.gradient.as<float>() + first_weight : nullptr;
  if (differentiate) std::fill_n(gradient, arguments.heads * queries * keys, 0.0F);
  for (std::int64_t i = 0; i < queries; ++i) {
    const std::int64_t begin = arguments.link_offsets[first_query + i];
    const std::int64_t end = arguments.link_offsets[first_query + i + 1];
    double& loss = arguments.losses.as<double>()[first_query + i];
    loss = 0;
    if (begin == end) continue;
    const GuidedRow row{.weights = arguments.weights.as<float>() + first_weight + i * keys,
                        .gradient = differentiate ? gradient + i * keys : nullptr,
                        .head_step = queries * keys,
                        .keys = keys,
                        .heads = arguments.guided_heads};
    loss = loss_of(arguments.cost, row, std::span(arguments.links.data + begin, arguments.links.data + end), scale);
  }
}

}  // namespace

template <>
void kernel(Context& context, const ops::AlignmentLossRowsArguments& arguments) {
  const std::int64_t sequences = arguments.q_offsets.size() - 1;
  const tensor::ScratchScope scratch_scope(context.arena());
  auto* first_weights =
      static_cast<std::int64_t*>(context.arena().allocate(static_cast<std::size_t>(sequences) * sizeof(std::int64_t)));
  std::int64_t total = 0;
  for (std::int64_t b = 0; b < sequences; ++b) {
    first_weights[b] = total;
    total += static_cast<std::int64_t>(arguments.heads) * (arguments.q_offsets[b + 1] - arguments.q_offsets[b]) *
             (arguments.k_offsets[b + 1] - arguments.k_offsets[b]);
  }
  core::for_each_range(context.executor(), sequences, kSequencesPerBlock, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) guide_sequence(arguments, b, first_weights[b]);
  });
}

}  // namespace dragoman::backend::cpu

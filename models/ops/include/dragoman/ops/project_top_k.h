#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// Returns the logit after the edit.
template <class T>
T edited(T logit, const LogitEdit& edit) {
  const T penalty = edit.penalty;
  return logit * (logit > 0 ? 1 / penalty : penalty) + edit.bias;
}

/// Projects hidden rows [R, d] to the vocabulary and selects the `k` best tokens of each row, k <= V.
///
/// - Logits are hidden * weight^T + bias. Tokens outside the row's shortlist get -infinity. Then edits are applied, and
///   the logits are divided by the row's temperature. A plain weight is multiplied in `type`: kF32, kBF16 or kF16.
/// - Tokens are ranked by (log probability + noise, descending; token id, ascending). Log probabilities come from the
///   edited, tempered softmax and exclude the noise.
/// - If a row has fewer than k tokens to choose from, other tokens follow with log probability -infinity, as for
///   suppressed tokens.
/// - `tokens` is [R, k] I32 and `log_probabilities` [R, k]. `scored_log_probabilities` [W, 1] has, for a token, the
///   same bits as its row's candidates. Entries whose row does not exist are not written.
///
/// The vocabulary is processed in panels, so logits [R, V] never exist unless k is close to V. Row-stable.
struct ProjectTopKArguments {
  Tensor hidden;
  Tensor weight;
  const PackedWeight* packed = nullptr;
  Tensor bias;
  std::int64_t k = 1;
  DeviceArray<double> temperatures;  ///< one per row, or empty: 1
  DeviceArray<LogitEdit> edits;
  DeviceArray<RowNoise> noise;  ///< one per row, or empty
  DeviceArray<std::int32_t> shortlist;
  DeviceArray<ShortlistRange> shortlist_of_row;  ///< ranges of `shortlist`, one per row, or empty
  Tensor tokens;
  Tensor log_probabilities;
  DeviceArray<ScoredToken> scored;
  Tensor scored_log_probabilities;
  ComputeType type = ComputeType::kF32;
};
inline constexpr KernelKey<void(Context&, const ProjectTopKArguments&)> kProjectTopK{"project_top_k"};

/// The options of project_top_k() on the host; ProjectTopKArguments defines them.
struct TopKOptions {
  std::int64_t k = 1;
  /// All spans must outlive the step. Temperatures: one per row; empty: 1.
  std::span<const double> temperatures = {};
  std::span<const LogitEdit> edits = {};
  std::span<const RowNoise> noise = {};
  std::span<const ScoredToken> scored = {};
  std::span<const std::int32_t> shortlist = {};
  std::span<const ShortlistRange> shortlist_of_row = {};
};

/// Options, and their copies that kernels read.
struct UploadedTopKOptions {
  TopKOptions host;
  DeviceArray<double> temperatures;
  DeviceArray<LogitEdit> edits;
  DeviceArray<RowNoise> noise;
  DeviceArray<ScoredToken> scored;
  DeviceArray<std::int32_t> shortlist;
  DeviceArray<ShortlistRange> shortlist_of_row;
};
/// Checks and uploads the options of `rows` rows of a vocabulary of `vocabulary` tokens. It is part of the preparation
/// of a step.
UploadedTopKOptions upload(Context& context, const TopKOptions& options, std::int64_t rows, std::int64_t vocabulary);

/// The candidates of every row, best first; both tensors are [R, k] in step memory. `scored_log_probabilities` are in
/// the order of TopKOptions::scored and may have additional rows.
struct TopK {
  Tensor tokens;
  Tensor log_probabilities;
  Tensor scored_log_probabilities = {};
};

/// Computes the candidates with the fused kernel. Without it, composes linear, log_softmax and a selection on the host;
/// devices cannot record that. If the tensors of `into` are not empty, they receive the candidates, which then outlive
/// the step.
TopK project_top_k(Context& context, const Tensor& hidden, const Projection& projection,
                   const UploadedTopKOptions& options, const TopK& into = {});
/// Uploads the options, too. For steps that are not recorded.
///
///     TopK best_five(Context& context, const Tensor& hidden, const Projection& output) {
///       return project_top_k(context, hidden, output, TopKOptions{.k = 5});
///     }
TopK project_top_k(Context& context, const Tensor& hidden, const Projection& projection, const TopKOptions& options);
TopK project_top_k_composite(Context& context, const Tensor& hidden, const Projection& projection,
                             const TopKOptions& options);

/// Returns the Gumbel noise of one token. All backends draw the same noise.
double gumbel_noise(const RowNoise& noise, std::int64_t vocabulary, std::int64_t token);

}  // namespace dragoman::ops

#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// What the edit makes of a logit.
template <class T>
T edited(T logit, const LogitEdit& edit) {
  const T penalty = edit.penalty;
  return logit * (logit > 0 ? 1 / penalty : penalty) + edit.bias;
}

/// For every row of hidden [R, d]: logits = hidden * weight^T + bias, those of tokens that the row may not choose
/// -infinity, edited, divided by its temperature; then the `k` best tokens by (log probability + noise, falling; token
/// id, rising) and their log probabilities under the edited, tempered softmax. The vocabulary goes through in panels,
/// logits [R, V] never exist (unless k is near V). Row-stable. Where a row has fewer tokens to choose from than k,
/// others follow with log probability -infinity, as those of edits do. `tokens` is [R, k] I32; `log_probabilities`
/// [R, k]; `scored_log_probabilities` [W, 1] has the same bits for a token as its row's candidates (not written for a
/// wanted token of no row). k <= V. A plain weight is multiplied in `type`, kF32, kBF16 or kF16.
struct ProjectTopKArguments {
  Tensor hidden;
  Tensor weight;
  const PackedWeight* packed = nullptr;
  Tensor bias;
  std::int64_t k = 1;
  DeviceArray<double> temperatures;  ///< one per row, or empty: 1
  DeviceArray<LogitEdit> edits;
  DeviceArray<RowNoise> noise;  ///< empty, or one per row
  DeviceArray<std::int32_t> shortlist;
  DeviceArray<ShortlistRange> shortlist_of_row;  ///< of `shortlist`: empty, or one per row
  Tensor tokens;
  Tensor log_probabilities;
  DeviceArray<ScoredToken> scored;
  Tensor scored_log_probabilities;
  ComputeType type = ComputeType::kF32;
};
inline constexpr KernelKey<void(Context&, const ProjectTopKArguments&)> kProjectTopK{"project_top_k"};

struct TopKOptions {
  std::int64_t k = 1;
  /// All must outlive the step. Temperatures: one per row, or none: 1.
  std::span<const double> temperatures = {};
  std::span<const LogitEdit> edits = {};
  std::span<const RowNoise> noise = {};
  std::span<const ScoredToken> scored = {};
  std::span<const std::int32_t> shortlist = {};
  std::span<const ShortlistRange> shortlist_of_row = {};
};

/// Options, and as kernels read them.
struct UploadedTopKOptions {
  TopKOptions host;
  DeviceArray<double> temperatures;
  DeviceArray<LogitEdit> edits;
  DeviceArray<RowNoise> noise;
  DeviceArray<ScoredToken> scored;
  DeviceArray<std::int32_t> shortlist;
  DeviceArray<ShortlistRange> shortlist_of_row;
};
/// For `rows` rows of a vocabulary of so many tokens: what belongs to the preparation of a step. Checks the options.
UploadedTopKOptions upload(Context& context, const TopKOptions& options, std::int64_t rows, std::int64_t vocabulary);

/// Candidates of every row, best first; both tensors [R, k] in step memory. What was wanted comes in its order, and
/// may have more rows than that.
struct TopK {
  Tensor tokens;
  Tensor log_probabilities;
  Tensor scored_log_probabilities = {};
};

/// Fused where the device has the kernel, else linear + log_softmax + selection on the host, which no device can
/// record. The candidates go to the tensors of `into` if it has some: they then outlive the step.
TopK project_top_k(Context& context, const Tensor& hidden, const Projection& projection,
                   const UploadedTopKOptions& options, const TopK& into = {});
/// Both, where the step is not to be recorded.
TopK project_top_k(Context& context, const Tensor& hidden, const Projection& projection, const TopKOptions& options);
TopK project_top_k_composite(Context& context, const Tensor& hidden, const Projection& projection,
                             const TopKOptions& options);

/// The Gumbel noise of one token, as all backends draw it.
double gumbel_noise(const RowNoise& noise, std::int64_t vocabulary, std::int64_t token);

}  // namespace dragoman::ops

#pragma once

#include <limits>

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// A change to one logit, made before the softmax. Sorted by (row, token) and unique in a call; the change is
/// logit = logit * (logit > 0 ? 1 / penalty : penalty) + bias, so that penalty 1 and bias -infinity suppress the token.
struct LogitEdit {
  std::int32_t row = 0;
  std::int32_t token = 0;
  float penalty = 1;
  float bias = 0;
  static constexpr float kSuppress = -std::numeric_limits<float>::infinity();
};

/// Draws of one row for sampling: with noise, candidates are ranked by log p + Gumbel noise, so that the best candidate
/// is an exact sample of the softmax (Gumbel 1954; Kool et al. 2019). The noise of token v is keyed by (seed, stream,
/// step * V + v).
struct RowNoise {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t step = 0;
  /// False: no noise in this row, though others of the call have some.
  bool drawn = true;
};

/// The tokens that a row may choose from: [begin, end) of a list, strictly rising; begin == end: the whole vocabulary.
/// Rows may share a range.
struct AllowedRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  bool operator==(const AllowedRange&) const = default;
};

/// For every row of hidden [R, d]: logits = hidden * weight^T + bias, those of tokens that the row may not choose
/// -infinity, edited, divided by its temperature; then the `k` best tokens by (log probability + noise, falling; token
/// id, rising) and their log probabilities under the edited, tempered softmax. The vocabulary goes through in panels,
/// logits [R, V] never exist (unless k is near V). Row-stable. Where a row has fewer tokens to choose from than k,
/// others follow with log probability -infinity, as those of edits do. `tokens` is [R, k] I32; `log_probabilities`
/// [R, k]. k <= V. A plain weight is multiplied in `type`, kF32 or kBF16.
struct ProjectTopKArguments {
  Tensor hidden;
  Tensor weight;
  const PackedWeight* packed = nullptr;
  Tensor bias;
  std::int64_t k = 1;
  DeviceArray<double> temperatures;  ///< one per row, or empty: 1
  DeviceArray<LogitEdit> edits;
  DeviceArray<RowNoise> noise;  ///< empty, or one per row
  DeviceArray<std::int32_t> allowed;
  DeviceArray<AllowedRange> allowed_of_row;  ///< of `allowed`: empty, or one per row
  Tensor tokens;
  Tensor log_probabilities;
  ComputeType type = ComputeType::kF32;
};
inline constexpr KernelKey<void(Context&, const ProjectTopKArguments&)> kProjectTopK{"project_top_k"};

struct TopKOptions {
  std::int64_t k = 1;
  /// All must outlive the step. Temperatures: one per row, or none: 1.
  std::span<const double> temperatures = {};
  std::span<const LogitEdit> edits = {};
  std::span<const RowNoise> noise = {};
  std::span<const std::int32_t> allowed = {};
  std::span<const AllowedRange> allowed_of_row = {};
};

/// Options, and as kernels read them.
struct UploadedTopKOptions {
  TopKOptions host;
  DeviceArray<double> temperatures;
  DeviceArray<LogitEdit> edits;
  DeviceArray<RowNoise> noise;
  DeviceArray<std::int32_t> allowed;
  DeviceArray<AllowedRange> allowed_of_row;
};
/// For `rows` rows of a vocabulary of so many tokens: what belongs to the preparation of a step. Checks the options.
UploadedTopKOptions upload(Context& context, const TopKOptions& options, std::int64_t rows, std::int64_t vocabulary);

/// Candidates of every row, best first; both tensors [R, k] in step memory.
struct TopK {
  Tensor tokens;
  Tensor log_probabilities;
};

/// Fused where the device has the kernel, else linear + log_softmax + selection on the host, which no device can
/// record.
TopK project_top_k(Context& context, const Tensor& hidden, const Projection& projection,
                   const UploadedTopKOptions& options);
/// Both, where the step is not to be recorded.
TopK project_top_k(Context& context, const Tensor& hidden, const Projection& projection, const TopKOptions& options);
TopK project_top_k_composite(Context& context, const Tensor& hidden, const Projection& projection,
                             const TopKOptions& options);

/// The Gumbel noise of one token, as all backends draw it.
double gumbel_noise(const RowNoise& noise, std::int64_t vocabulary, std::int64_t token);

}  // namespace dragoman::ops

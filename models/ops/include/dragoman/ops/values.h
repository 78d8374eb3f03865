#pragma once

#include <cstdint>
#include <limits>

// Plain values that kernels read besides tensors and scalars. This file includes no Dragoman header, so that code
// compiled by a device compiler can include it.
namespace dragoman::ops {

/// relu(x) = max(0, x). gelu(x) = x * Phi(x) with the exact normal distribution function (Hendrycks & Gimpel 2016),
/// PyTorch's default. swish(x) = x * sigmoid(x). gelu_tanh(x) = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
/// is the approximation of gelu in GPT-2 and T5 1.1.
enum class Activation : std::uint8_t { kNone, kRelu, kGelu, kSwish, kSigmoid, kTanh, kGeluTanh };

/// The distance between the attention of a target token and its alignment, both distributions over source tokens (Chen
/// et al. 2016). alignment_loss.h has the formulas.
enum class AlignmentCost : std::uint8_t { kCrossEntropy, kMeanSquaredError, kMultiplication };
/// The constant that is added to attention before taking logarithms.
inline constexpr double kAlignmentEpsilon = 1e-9;

/// The keys of one query row: entries [begin, begin + count) of a list of row numbers.
struct KeyRange {
  std::int32_t begin = 0;
  std::int32_t count = 0;
};

/// A change to one logit before the softmax: logit = logit * (logit > 0 ? 1 / penalty : penalty) + bias. Penalty 1 and
/// bias -infinity suppress the token. The edits of a call are sorted by (row, token) and unique.
struct LogitEdit {
  std::int32_t row = 0;
  std::int32_t token = 0;
  float penalty = 1;
  float bias = 0;
  static constexpr float kSuppress = -std::numeric_limits<float>::infinity();
};

/// The noise of one row for sampling. Candidates are ranked by log p + Gumbel noise, so that the best candidate is an
/// exact sample of the softmax (Gumbel 1954; Kool et al. 2019). The noise of token v is keyed by (seed, stream, step *
/// V + v).
struct RowNoise {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t step = 0;
  /// False: this row gets no noise, although other rows of the call do.
  bool drawn = true;
};

/// A token whose log probability is returned even if it is not among the best of its row. The scored tokens of a call
/// are sorted by (row, token) and unique.
struct ScoredToken {
  std::int32_t row = 0;
  std::int32_t token = 0;
};

/// The shortlist of a row: entries [begin, end) of a list, strictly ascending. An empty range means the whole
/// vocabulary. Rows may share a range.
struct ShortlistRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  bool operator==(const ShortlistRange&) const = default;
};

/// An output of a projection, and the gathered column that holds it.
struct ShortlistSource {
  std::int32_t token = 0;
  std::int32_t column = 0;
};
/// The gathered column of a shortlist entry; `place` is the index of the entry in its shortlist.
struct ShortlistColumn {
  std::int32_t column = 0;
  std::int32_t place = 0;
};

/// The continuation of one sentence. The best of the first `candidates` candidates of each of its rows become rows of
/// the next step, starting at `first_next`.
struct NextRows {
  std::int32_t first_row = 0;
  std::int32_t rows = 0;
  std::int32_t candidates = 0;
  std::int32_t first_next = 0;
  std::int32_t next = 0;
};

/// The values of an optimiser step that change between updates.
struct UpdateStep {
  double learning_rate = 0;
  double gradient_scale = 1;
  /// The decay of the moving average of the parameters.
  double average_decay = 0;
  std::int64_t step = 1;  ///< counts from 1
  /// 1: the update is skipped and changes nothing; else 0.
  std::int64_t skip = 0;
};

/// The values of an update that the host knows before the gradients are computed.
struct UpdatePlan {
  double learning_rate = 0;
  double average_decay = 0;
  /// The largest norm of the gradients; 0: no limit.
  double clip_norm = 0;
  /// The factor by which the computed gradients exceed the true gradients.
  double loss_scale = 1;
  std::int64_t step = 1;  ///< counts from 1
  /// 1: the host has not read the outcome of the previous update, so this one is skipped if that was; else 0.
  std::int64_t depends_on_previous = 0;
};

/// Sums over the rows of batches, in natural logarithms.
struct LossRecord {
  double loss = 0;
  double negative_log_likelihood = 0;
  /// The guided alignment loss, unweighted. `loss` includes it with its weight.
  double alignment = 0;
};

/// The outcome of an update.
struct UpdateRecord {
  UpdateStep step;
  LossRecord losses;
  /// The norm of the true gradients (without the loss scale), before clip_norm.
  double gradient_norm = 0;
};

}  // namespace dragoman::ops

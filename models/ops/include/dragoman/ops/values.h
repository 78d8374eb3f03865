#pragma once

#include <cstdint>
#include <limits>

// The plain values that kernels read besides tensors and numbers. They include nothing, so that code which is compiled
// for a device, by a compiler of its own, can know them, too.
namespace dragoman::ops {

/// relu(x) = max(0, x); gelu(x) = x * Phi(x) with the exact normal distribution function (Hendrycks & Gimpel 2016), as
/// PyTorch's default; swish(x) = x * sigmoid(x); gelu_tanh(x) = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))),
/// the approximation of gelu that GPT-2 and T5 1.1 have.
enum class Activation : std::uint8_t { kNone, kRelu, kGelu, kSwish, kSigmoid, kTanh, kGeluTanh };

/// How far the attention of a target token, a distribution over source tokens, is from its alignment, another one
/// (Chen et al. 2016); alignment_loss.h has the formulas.
enum class AlignmentCost : std::uint8_t { kCrossEntropy, kMeanSquaredError, kMultiplication };
/// What is added in logarithms of attention.
inline constexpr double kAlignmentEpsilon = 1e-9;

/// The keys of one query row: entries [begin, begin + count) of a list of row numbers.
struct KeyRange {
  std::int32_t begin = 0;
  std::int32_t count = 0;
};

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

/// A token whose log probability is wanted whether or not it is among the best of its row. Sorted by (row, token) and
/// unique in a call.
struct ScoredToken {
  std::int32_t row = 0;
  std::int32_t token = 0;
};

/// The tokens that a row may choose from: [begin, end) of a list, strictly rising; begin == end: the whole vocabulary.
/// Rows may share a range.
struct ShortlistRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  bool operator==(const ShortlistRange&) const = default;
};

/// An output of a projection, and the column of gathered outputs that holds it.
struct ShortlistSource {
  std::int32_t token = 0;
  std::int32_t column = 0;
};
/// Where a token of a list is gathered: the token is number `place` of its list.
struct ShortlistColumn {
  std::int32_t column = 0;
  std::int32_t place = 0;
};

/// How the rows of one sentence go on: of the first `candidates` candidates of each of them, the best ones are the next
/// step's rows from `first_next` on.
struct NextRows {
  std::int32_t first_row = 0;
  std::int32_t rows = 0;
  std::int32_t candidates = 0;
  std::int32_t first_next = 0;
  std::int32_t next = 0;
};

/// What an update of parameters is told that changes from one to the next.
struct UpdateStep {
  double learning_rate = 0;
  double gradient_scale = 1;
  /// Of the moving average of the parameters.
  double average_decay = 0;
  std::int64_t step = 1;  ///< counts from 1
  /// 1: the update is skipped and changes nothing; else 0.
  std::int64_t skip = 0;
};

/// What the host knows of an update before its gradients are there.
struct UpdatePlan {
  double learning_rate = 0;
  double average_decay = 0;
  /// The most that the norm of the gradients may be; 0: anything.
  double clip_norm = 0;
  /// Gradients are so many times what they are meant to be.
  double loss_scale = 1;
  std::int64_t step = 1;  ///< counts from 1
  /// 1: the host has not read the outcome of the previous update, so this one is skipped if that was; else 0.
  std::int64_t depends_on_previous = 0;
};

/// Sums over the rows of batches, in natural logarithms.
struct LossRecord {
  double loss = 0;
  double negative_log_likelihood = 0;
  /// What guided alignment has to say, without its weight; `loss` holds it with it.
  double alignment = 0;
};

/// What became of an update.
struct UpdateRecord {
  UpdateStep step;
  LossRecord losses;
  /// Of the gradients as they are meant to be, before clip_norm.
  double gradient_norm = 0;
};

}  // namespace dragoman::ops

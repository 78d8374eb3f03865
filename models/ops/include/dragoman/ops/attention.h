#pragma once

#include <cmath>
#include <vector>

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// The options of attention() that do not come from its operands.
struct AttentionOptions {
  int heads = 1;
  /// If true, query i of a sequence with m queries and n keys sees keys 0 .. i + (n - m).
  bool causal = false;
  /// The dropout rate of the attention weights.
  double dropout = 0;
  /// The factor of the products of queries and keys; 0 selects 1/sqrt(d / heads).
  double scale = 0;
};

/// Returns the scale of the scores for this head size, computed in the type Number.
template <class Number>
Number score_scale(double scale, std::int64_t head_size) {
  return scale != 0 ? static_cast<Number>(scale) : 1 / std::sqrt(static_cast<Number>(head_size));
}

/// Returns the reach of a relative bias table, which has [2 * reach + 1, heads] elements. The score of (query i, key j)
/// of head h gets the element in column h and row reach + clamp(j - p, -reach, reach). Here p = i + (n - m) is the key
/// at the position of query i, for m queries and n keys.
inline std::int64_t bias_reach(const Tensor& table) {
  return (table.rows - 1) / 2;
}

/// Multi-head scaled dot-product attention (Vaswani et al. 2017, eq. 1) within each ragged sequence, without padding or
/// masks. Scores are multiplied by score_scale(scale, d / heads). If `bias` is not empty, it is added to them as
/// bias_reach() describes.
///
/// q is [Tq, d], k and v are [Tk, d]. Head h has the columns [h*d/heads, (h+1)*d/heads). Sequence b has the queries
/// [q_offsets[b], q_offsets[b+1]) and the keys [k_offsets[b], k_offsets[b+1]). A sequence without keys gives zeros.
///
/// If `probabilities` is not empty, it receives the attention weights before dropout. The weight of (sequence b, head
/// h, query i, key j) is element weight_offsets()[b] + (h * m + i) * n + j of the flat tensor [1, at least total].
/// Weights that causality forbids are 0. The dropout mask of a weight is keyed by the same flat index, as in
/// ops/dropout.h.
struct AttentionArguments {
  Tensor q;
  Tensor k;
  Tensor v;
  DeviceIndices q_offsets;
  DeviceIndices k_offsets;
  int heads = 1;
  bool causal = false;
  double rate = 0;
  RandomState random;
  Tensor probabilities;
  Tensor y;
  double scale = 0;
  Tensor bias{};
};
inline constexpr KernelKey<void(Context&, const AttentionArguments&)> kAttention{"attention"};

/// The gradients of `attention`. `forward.probabilities` holds the saved weights and `forward.y` the output. `dweights`
/// may be empty. Otherwise it is a gradient of the weights, in the same flat order, which is added to the gradient that
/// flows through y.
struct AttentionBackwardArguments {
  AttentionArguments forward;
  Tensor dy;
  GradientTarget dq;
  GradientTarget dk;
  GradientTarget dv;
  GradientTarget dbias{};
  Tensor dweights{};
};
inline constexpr KernelKey<void(Context&, const AttentionBackwardArguments&)> kAttentionBackward{"attention_backward"};

/// Attention that does not store its weights; the backward pass recomputes them. `log_sums` [Tq, heads], of floats,
/// receives the logarithm of the sum of the exponentials of each query's scores. If the device has products of `type`
/// for this head size, the inputs of all products are rounded as docs/concepts/numerics.md specifies. With kF32 nothing
/// is rounded. If `rounded_y` is not empty, it receives y rounded to `type`; see allocate_rounded_result().
struct RecomputedAttentionArguments {
  AttentionArguments forward;
  Tensor log_sums;
  ComputeType type = ComputeType::kF32;
  Tensor rounded_y{};
};
inline constexpr KernelKey<void(Context&, const RecomputedAttentionArguments&)> kRecomputedAttention{
    "recomputed_attention"};

/// The gradients of RecomputedAttentionArguments, computed from its `y` and `log_sums`.
struct RecomputedAttentionBackwardArguments {
  RecomputedAttentionArguments forward;
  Tensor dy;
  GradientTarget dq;
  GradientTarget dk;
  GradientTarget dv;
  GradientTarget dbias{};
};
inline constexpr KernelKey<void(Context&, const RecomputedAttentionBackwardArguments&)> kRecomputedAttentionBackward{
    "recomputed_attention_backward"};

/// Returns true if attention() on this device keeps the weights of all pairs for its backward pass.
bool keeps_attention_weights(const Context& context);

struct AttentionResult {
  Variable output;   ///< [Tq, d]
  Variable weights;  ///< AttentionArguments::probabilities, or empty
};

/// Observes each attention() of a context, so that the attention of any model can be read without the model's help. The
/// caller owns it and removes it from the context before it is destroyed.
class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;
  /// Called before the computation. May change the options.
  virtual void before(AttentionOptions& options) = 0;
  /// Called after the computation. `forward` holds the weights.
  virtual void after(Context& context, const AttentionArguments& forward, const Offsets& q_offsets,
                     const Offsets& k_offsets) = 0;
};

/// Returns the observer of a context; nullptr if there is none.
AttentionObserver* attention_observer(const Context& context) noexcept;
/// Sets the observer; nullptr removes it. With an observer, steps keep the results of all layers, and devices do not
/// record them.
void set_attention_observer(Context& context, AttentionObserver* observer);

/// Returns the number of pairs of a query and a key of the same sequence.
std::int64_t pairs_of_rows(std::span<const std::int32_t> q_offsets, std::span<const std::int32_t> k_offsets);
/// Returns the start of each sequence's weights, followed by the total number of weights. A sequence has heads *
/// queries * keys weights.
std::vector<std::int64_t> weight_offsets(std::span<const std::int32_t> q_offsets,
                                         std::span<const std::int32_t> k_offsets, int heads);

/// Computes attention. `bias` may be empty.
///
///     Variable self_attention(Context& context, const std::array<Variable, 3>& qkv, const Offsets& offsets) {
///       return attention(context, qkv[0], qkv[1], qkv[2], offsets, offsets, {.heads = 8, .causal = true}).output;
///     }
///
/// If a gradient is recorded, the weights are either kept or recomputed, if the device has kernels for that.
/// `keep_weights` forces them to be kept and returns them. A gradient that the caller then gives to the weights flows
/// on to q, k and bias.
AttentionResult attention(Context& context, const Variable& q, const Variable& k, const Variable& v,
                          const Offsets& q_offsets, const Offsets& k_offsets, const AttentionOptions& options,
                          bool keep_weights = false, const Variable& bias = {});
/// attention() composed of matmul, softmax and slices. Slow; the reference for tests of the fused form.
Variable attention_composite(Context& context, const Variable& q, const Variable& k, const Variable& v,
                             const Offsets& q_offsets, const Offsets& k_offsets, const AttentionOptions& options,
                             const Variable& bias = {});

/// Attention of single query rows q [R, d] over cached keys and values; no gradient.
///
/// `keys` and `values` [P, d] are pools of rows, of the context's float type, or both of BF16 or F16. Query r attends
/// to the rows `key_rows[i]` with i in `ranges[r]`, in that order. For a `bias`, the query has the position of its last
/// key. No range is longer than `longest`. The result of row r depends on q[r] and its own keys alone, bit for bit.
///
/// `probabilities` may be empty. Otherwise it is [R, heads * longest]; head h of a row with `count` keys starts at
/// column h * count.
struct CachedAttentionArguments {
  Tensor q;
  Tensor keys;
  Tensor values;
  DeviceIndices key_rows;
  DeviceArray<KeyRange> ranges;
  std::int32_t longest = 0;
  int heads = 1;
  Tensor probabilities;
  Tensor y;
  double scale = 0;
  Tensor bias{};
};
inline constexpr KernelKey<void(Context&, const CachedAttentionArguments&)> kCachedAttention{"cached_attention"};

}  // namespace dragoman::ops

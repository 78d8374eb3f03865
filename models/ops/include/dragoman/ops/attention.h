#pragma once

#include <cmath>
#include <vector>

#include <dragoman/ops/types.h>

namespace dragoman::ops {

struct AttentionOptions {
  int heads = 1;
  /// Query i of a sequence of m queries and n keys sees keys 0 .. i + (n - m).
  bool causal = false;
  /// Dropout on the attention weights.
  double dropout = 0;
  /// What the products of queries and keys are multiplied by; 0: 1/sqrt(d / heads).
  double scale = 0;
};

/// The scale of the scores of heads of this size, in the arithmetic of Number.
template <class Number>
Number score_scale(double scale, std::int64_t head_size) {
  return scale != 0 ? static_cast<Number>(scale) : 1 / std::sqrt(static_cast<Number>(head_size));
}

/// A bias on scores by how far a key is from the query: a table [2 * reach + 1, heads], of whose column h score (query
/// i, key j) of head h gets row reach + clamp(j - p, -reach, reach), p = i + (n - m) being the key that stands where
/// query i of m does among n keys.
inline std::int64_t bias_reach(const Tensor& table) {
  return (table.rows - 1) / 2;
}

/// Multi-head scaled dot-product attention (Vaswani et al. 2017, eq. 1) within each ragged sequence, with scores times
/// score_scale(scale, d / heads) and, unless it is empty, plus a `bias` as bias_reach() has it: no padding, no masks. q
/// [Tq, d], k and v [Tk, d] (columns of head h are [h*d/heads, (h+1)*d/heads)); sequence b has queries [q_offsets[b],
/// q_offsets[b+1]) and keys [k_offsets[b], k_offsets[b+1]). If `probabilities` is not empty it receives the attention
/// weights before dropout: the weight of (sequence b, head h, query i, key j) is element weight_offsets()[b] + (h * m +
/// i) * n + j of the flat tensor [1, at least total]. Weights that causality forbids are 0. The dropout mask of a
/// weight is keyed by that same flat index, as ops/dropout.h says. A sequence without keys gives zeros.
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

/// Gradients of `attention`; `forward.probabilities` holds the saved weights, and forward.y the output. `dweights` (may
/// be empty) is a gradient of these weights themselves, flat as they are, which is added to what comes by way of y.
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

/// attention without weights to be kept, for a backward pass that computes them again: `log_sums` [Tq, heads], of
/// floats, becomes the logarithm of the sum of the exponentials of each query's scores. Where the device has products
/// of `type` for heads of the size, the inputs of all products are rounded as docs/concepts/numerics.md says; kF32:
/// nothing is.
struct RecomputedAttentionArguments {
  AttentionArguments forward;
  Tensor log_sums;
  ComputeType type = ComputeType::kF32;
};
inline constexpr KernelKey<void(Context&, const RecomputedAttentionArguments&)> kRecomputedAttention{
    "recomputed_attention"};

/// Its gradients, by what it left in forward.y and log_sums.
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

/// Whether attention() keeps the weights of all pairs for its backward pass on this device.
bool keeps_attention_weights(const Context& context);

struct AttentionResult {
  Variable output;   ///< [Tq, d]
  Variable weights;  ///< AttentionArguments::probabilities, or empty
};

/// Is called at each attention() of a context, so that the attention of any model can be read without its help.
class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;
  /// May change how it is about to be computed.
  virtual void before(AttentionOptions& options) = 0;
  /// `forward` is computed and holds its weights.
  virtual void after(Context& context, const AttentionArguments& forward, const Offsets& q_offsets,
                     const Offsets& k_offsets) = 0;
};

/// The observer of a context; nullptr: none.
AttentionObserver* attention_observer(const Context& context) noexcept;
/// Sets it; nullptr removes it. Steps that are observed keep the results of all layers, and devices do not record them.
void set_attention_observer(Context& context, AttentionObserver* observer);

/// How many pairs of a query and a key of the same sequence there are.
std::int64_t pairs_of_rows(std::span<const std::int32_t> q_offsets, std::span<const std::int32_t> k_offsets);
/// Where each sequence's weights begin, and, last, how many there are: heads * queries * keys for each sequence.
std::vector<std::int64_t> weight_offsets(std::span<const std::int32_t> q_offsets,
                                         std::span<const std::int32_t> k_offsets, int heads);

/// If a gradient is recorded, the weights are kept, or computed again where the device has kernels for that; they are
/// kept if `keep_weights`, which gives them to the caller; a gradient that is then put on them flows on to q, k and
/// bias. `bias` may be empty.
AttentionResult attention(Context& context, const Variable& q, const Variable& k, const Variable& v,
                          const Offsets& q_offsets, const Offsets& k_offsets, const AttentionOptions& options,
                          bool keep_weights = false, const Variable& bias = {});
/// The same out of matmul, softmax, slices; slow, and the oracle of the fused form.
Variable attention_composite(Context& context, const Variable& q, const Variable& k, const Variable& v,
                             const Offsets& q_offsets, const Offsets& k_offsets, const AttentionOptions& options,
                             const Variable& bias = {});

/// Attention of single query rows q [R, d] over cached keys and values; no gradient. `keys` and `values` [P, d] are
/// pools of rows, of the context's float type or both of BF16 or F16: query r attends to the rows `key_rows[i]` with i
/// in `ranges[r]`, in that order; with a `bias` it stands at the last of them. Row r's result depends on q[r] and its
/// own keys alone, bit for bit. No range is longer than `longest`. `probabilities` (may be empty) is [R, heads *
/// longest]: head h of row r fills from column h * count of the row.
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

#pragma once

#include <algorithm>
#include <cstdint>

#include <dragoman/ops/attention.h>

namespace dragoman::backend::cpu {

/// Queries that are processed together; their scores stay in the first-level cache.
inline constexpr std::int64_t kQueryBlock = 16;
/// (Sequence, head) pairs per block of work.
inline constexpr std::int64_t kUnitsPerBlock = 8;

/// Rounds a number of keys up to a multiple of every vector length, so that rows of scores are whole vectors.
inline std::int64_t padded_keys(std::int64_t keys) {
  return (keys + 15) / 16 * 16;
}

/// One head of one sequence: the unit of work of ragged attention.
struct AttentionUnit {
  std::int64_t sequence;
  std::int64_t head;
  std::int64_t first_query;
  std::int64_t queries;
  std::int64_t first_key;
  std::int64_t keys;
  std::int64_t col;           ///< first column of the head
  std::int64_t head_size;     ///< number of columns
  std::int64_t first_weight;  ///< flat index of the sequence's first weight

  /// `first_weights` contains the flat index of every sequence's first weight.
  AttentionUnit(const ops::AttentionArguments& arguments, const std::int64_t* first_weights, std::int64_t index)
      : sequence(index / arguments.heads),
        head(index % arguments.heads),
        first_query(arguments.q_offsets[sequence]),
        queries(arguments.q_offsets[sequence + 1] - first_query),
        first_key(arguments.k_offsets[sequence]),
        keys(arguments.k_offsets[sequence + 1] - first_key),
        col(head * (arguments.q.cols / arguments.heads)),
        head_size(arguments.q.cols / arguments.heads),
        first_weight(first_weights[sequence]) {}

  /// The number of keys that query `i` sees.
  std::int64_t visible(bool causal, std::int64_t i) const noexcept {
    return causal ? std::clamp<std::int64_t>(i + keys - queries + 1, 0, keys) : keys;
  }
  /// The flat index of the weight of query `i` and the first key.
  std::int64_t weight_index(std::int64_t i) const noexcept { return first_weight + (head * queries + i) * keys; }
};

inline std::int64_t attention_units(const ops::AttentionArguments& arguments) {
  return std::max<std::int64_t>(0, arguments.q_offsets.size() - 1) * arguments.heads;
}

/// Returns the `first_weights` of AttentionUnit, in scratch memory.
inline const std::int64_t* first_weights_of(tensor::Context& context, const ops::AttentionArguments& arguments) {
  const std::int64_t sequences = arguments.q_offsets.size() - 1;
  auto* first =
      static_cast<std::int64_t*>(context.arena().allocate(static_cast<std::size_t>(sequences) * sizeof(std::int64_t)));
  std::int64_t total = 0;
  for (std::int64_t b = 0; b < sequences; ++b) {
    first[b] = total;
    total += static_cast<std::int64_t>(arguments.heads) * (arguments.q_offsets[b + 1] - arguments.q_offsets[b]) *
             (arguments.k_offsets[b + 1] - arguments.k_offsets[b]);
  }
  return first;
}

/// Returns the table of biases by distance with the rows of each head end to end, in scratch memory; nullptr if there
/// is none.
inline const float* bias_by_head(tensor::Context& context, const ops::AttentionArguments& arguments) {
  const tensor::Tensor& bias = arguments.bias;
  if (bias.empty()) return nullptr;
  auto* turned = static_cast<float*>(context.arena().allocate(static_cast<std::size_t>(bias.size()) * sizeof(float)));
  for (std::int64_t i = 0; i < bias.rows; ++i)
    for (std::int64_t h = 0; h < bias.cols; ++h) turned[h * bias.rows + i] = bias.row<float>(i)[h];
  return turned;
}

/// The biases for a row of scores: keys before `near` get the first bias, keys from `far` on the last, and the keys
/// between them consecutive biases starting at `first`.
struct BiasOfRow {
  std::int64_t near;
  std::int64_t far;
  std::int64_t first;

  /// For a query at position `place` among the keys. The first `keys` of them are used.
  BiasOfRow(std::int64_t place, std::int64_t reach, std::int64_t keys)
      : near(std::clamp<std::int64_t>(place - reach, 0, keys)),
        far(std::clamp<std::int64_t>(place + reach, near, keys)),
        first(near - place + reach) {}
};

/// Runs kernel(first_weights, first unit, last unit, scratch) over all units. scratch_floats(unit) returns the number
/// of floats of scratch memory that a unit needs.
template <class ScratchFloats, class Kernel>
void for_each_unit(tensor::Context& context, const ops::AttentionArguments& arguments,
                   const ScratchFloats& scratch_floats, const Kernel& kernel) {
  const std::int64_t units = attention_units(arguments);
  if (units == 0) return;
  const std::int64_t blocks = (units + kUnitsPerBlock - 1) / kUnitsPerBlock;
  const tensor::ScratchScope scratch_scope(context.arena());
  const std::int64_t* first_weights = first_weights_of(context, arguments);
  auto* offsets =
      static_cast<std::int64_t*>(context.arena().allocate(static_cast<std::size_t>(blocks) * sizeof(std::int64_t)));
  std::int64_t total = 0;
  for (std::int64_t block = 0; block < blocks; ++block) {
    offsets[block] = total;
    std::int64_t most = 0;
    const std::int64_t end = std::min(units, (block + 1) * kUnitsPerBlock);
    for (std::int64_t u = block * kUnitsPerBlock; u < end; ++u)
      most = std::max(most, scratch_floats(AttentionUnit(arguments, first_weights, u)));
    total += most;
  }
  auto* scratch = static_cast<float*>(context.arena().allocate(static_cast<std::size_t>(total) * sizeof(float)));
  core::for_each_range(context.executor(), units, kUnitsPerBlock, [&](std::int64_t begin, std::int64_t end) {
    kernel(first_weights, begin, end, scratch + offsets[begin / kUnitsPerBlock]);
  });
}

}  // namespace dragoman::backend::cpu

#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// y[t] = dropout(scale * table[ids[t]] + position_table[positions[t] + first_position]), with ids.size() rows.
///
/// `table` has the context's float type or a narrower type that files store, such as I8 with scales. `position_table`
/// may be empty. The caller guarantees that ids and positions are within their tables.
struct EmbeddingArguments {
  DeviceIndices ids;
  StoredMatrix table;
  double scale = 1;
  DeviceIndices positions;
  Tensor position_table;
  std::int32_t first_position = 0;
  double rate = 0;
  RandomState random;
  Tensor y;
};
inline constexpr KernelKey<void(Context&, const EmbeddingArguments&)> kEmbedding{"embedding"};

/// dtable.value[ids[t] + first] += scale * mask(dy)[t]. Unless dtable.accumulate is set, rows without an id become 0.
/// Contributions of equal ids are added in ascending t, for any thread count.
struct EmbeddingBackwardArguments {
  DeviceIndices ids;
  std::int32_t first = 0;
  Tensor dy;
  double scale = 1;
  double rate = 0;
  RandomState random;
  GradientTarget dtable;
};
inline constexpr KernelKey<void(Context&, const EmbeddingBackwardArguments&)> kEmbeddingBackward{"embedding_backward"};

struct EmbeddingOptions {
  double scale = 1;
  double dropout = 0;
  /// The row of the position table for position 0.
  std::int32_t first_position = 0;
};

/// Looks up ids [T] in table [V, d] and returns [T, d]. `positions` [T] select rows of position_table [P, d], which may
/// be empty. Error{kInvalidArgument} for an id or position outside its table.
///
///     Variable embed(Context& context, const std::vector<std::int32_t>& ids, const Variable& table) {
///       return embedding(context, context.indices(ids), table, {}, {}, {.scale = 16});
///     }
Variable embedding(Context& context, const Indices& ids, const Weight& table, const Indices& positions,
                   const Variable& position_table, const EmbeddingOptions& options);
inline Variable embedding(Context& context, const Indices& ids, const Variable& table, const Indices& positions,
                          const Variable& position_table, const EmbeddingOptions& options) {
  return embedding(context, ids, Weight{table}, positions, position_table, options);
}

}  // namespace dragoman::ops

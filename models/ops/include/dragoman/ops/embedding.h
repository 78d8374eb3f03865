#pragma once

#include <dragoman/ops/types.h>

namespace dragoman::ops {

/// y[t] = dropout(scale * table[ids[t]] + position_table[positions[t] + first_position]). `table` is of the context's
/// float type or of a narrower one that files have, I8 with scales among them. `position_table` may be empty. The
/// caller guarantees that ids and positions lie within their tables. ids.size() rows.
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

/// dtable.value[ids[t] + first] += scale * mask(dy)[t]; rows that no id names become 0 unless dtable.accumulate. The
/// sum over equal ids is taken in ascending t, whatever the thread count.
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
  /// Row of the position table that position 0 has.
  std::int32_t first_position = 0;
};

/// ids [T] into table [V, d] -> [T, d]. `positions` [T] into position_table [P, d], or an empty position_table.
/// Error{kInvalidArgument} on an id or position outside of its table.
Variable embedding(Context& context, const Indices& ids, const Weight& table, const Indices& positions,
                   const Variable& position_table, const EmbeddingOptions& options);
inline Variable embedding(Context& context, const Indices& ids, const Variable& table, const Indices& positions,
                          const Variable& position_table, const EmbeddingOptions& options) {
  return embedding(context, ids, Weight{table}, positions, position_table, options);
}

}  // namespace dragoman::ops

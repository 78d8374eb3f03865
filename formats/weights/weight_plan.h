#pragma once

#include "weights/foreign_weights.h"

#include <functional>
#include <utility>

#include <dragoman/tensor/tensor.h>

namespace dragoman::imports {

/// A foreign array that is a share of a parameter's rows.
struct WeightPart {
  std::string name;
  bool turned = false;    ///< the file has the matrix as inputs x outputs; ours is outputs x inputs
  bool optional = false;  ///< zeros where the file has none
};

/// Which foreign arrays a parameter is made of: equal shares of its rows, of a vector of its values. The same says what
/// an export writes.
struct PlannedWeight {
  std::string parameter;
  std::int64_t rows = 1;
  std::int64_t cols = 0;
  bool is_vector = false;
  std::vector<WeightPart> parts;
  /// Behind them: rows, of a vector values, that the file does not have, and what stands there.
  std::int64_t added = 0;
  float added_value = 0;
  /// In a vector, `added_value` replaces the values of the file from this one on; -1: none.
  std::int64_t replaced_from = -1;
  /// Pairs of rows, of a vector values, that change places after reading, in this order.
  std::vector<std::pair<std::int32_t, std::int32_t>> swapped{};

  /// Rows, of a vector values, of a part.
  std::int64_t share() const { return ((is_vector ? cols : rows) - added) / static_cast<std::int64_t>(parts.size()); }
};

using WeightPlan = std::vector<PlannedWeight>;

/// The first with this parameter; null: none.
const PlannedWeight* find(const WeightPlan& plan, std::string_view parameter);

/// Error{kBadInput} unless the file has every array of the plan in its shape, and has no other: one message names the
/// first few of each fault. `ignored` says which may be left. No memory is taken for values.
void check_plan(const WeightPlan& plan, const ForeignWeights& weights,
                const std::function<bool(std::string_view name)>& ignored);

/// Puts a parameter's values together: F32, contiguous host memory.
void read_planned(const PlannedWeight& planned, const ForeignWeights& weights, const tensor::Tensor& out);

/// The values of a part as the file has them, out of those of the whole parameter: F32, contiguous.
void extract_part(const PlannedWeight& planned, std::size_t part, const tensor::Tensor& value, std::vector<float>& out);

}  // namespace dragoman::imports

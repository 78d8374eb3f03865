#pragma once

#include "weights/foreign_weights.h"

#include <functional>
#include <utility>

#include <dragoman/tensor/tensor.h>

namespace dragoman::imports {

/// A foreign array that provides a share of a parameter's rows.
struct WeightPart {
  std::string name;
  bool turned = false;    ///< the file has the matrix as inputs x outputs; Dragoman has outputs x inputs
  bool optional = false;  ///< zeros if the file lacks it
};

/// The foreign arrays from which a parameter is built. Each provides an equal share of its rows or, for a vector, of
/// its values. An export uses the same plan in reverse.
struct PlannedWeight {
  std::string parameter;
  std::int64_t rows = 1;
  std::int64_t cols = 0;
  bool is_vector = false;
  std::vector<WeightPart> parts;
  /// Rows (for a vector, values) that the file lacks, after the others, and their value.
  std::int64_t added = 0;
  float added_value = 0;
  /// In a vector, `added_value` replaces the values of the file from this index on. -1: none.
  std::int64_t replaced_from = -1;
  /// Pairs of rows (for a vector, of values) that are exchanged after reading, in this order.
  std::vector<std::pair<std::int32_t, std::int32_t>> swapped{};

  /// Returns the number of rows (for a vector, of values) in a part.
  std::int64_t share() const { return ((is_vector ? cols : rows) - added) / static_cast<std::int64_t>(parts.size()); }
};

using WeightPlan = std::vector<PlannedWeight>;

/// Returns the first one for this parameter, or nullptr if there is none.
const PlannedWeight* find(const WeightPlan& plan, std::string_view parameter);

/// Throws Error{kBadInput} unless the file has exactly the arrays of the plan, in their shapes. One message names the
/// first few faults of each kind. Arrays for which `ignored` returns true may be left over. No memory is allocated for
/// values.
void check_plan(const WeightPlan& plan, const ForeignWeights& weights,
                const std::function<bool(std::string_view name)>& ignored);

/// Builds the values of a parameter: F32, contiguous host memory.
void read_planned(const PlannedWeight& planned, const ForeignWeights& weights, const tensor::Tensor& out);

/// Extracts the values of a part, in the layout of the file, from the values of the whole parameter: F32, contiguous.
void extract_part(const PlannedWeight& planned, std::size_t part, const tensor::Tensor& value, std::vector<float>& out);

}  // namespace dragoman::imports

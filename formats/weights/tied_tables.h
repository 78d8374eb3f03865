#pragma once

#include "weights/foreign_tensors.h"

#include <string>
#include <string_view>
#include <vector>

namespace dragoman::imports {

/// The tensors from which the embeddings of encoder and decoder and the output matrix are read.
struct TableTensors {
  std::string encoder;
  std::string decoder;
  std::string output;
  bool encoder_is_decoder = false;
  bool output_is_decoder = false;
};

/// The names of these tables in a model family.
struct TableNames {
  std::string_view shared;
  std::string_view encoder;
  std::string_view decoder;
  std::string_view output;
  /// The three names above, in the order in which transformers searches for a substitute for a missing `shared`.
  std::vector<std::string_view> substitutes;
};

/// Finds the tables like transformers 5 for a configuration that ties them: a table that the file has under its own
/// name keeps its values, and a missing one gets the values of `shared`. Copies are compared by value, since the
/// configuration does not guarantee equality. If `tied_output` is false, the output must exist. Throws Error{kBadInput}
/// if there is no table.
TableTensors find_tables(const ForeignTensors& weights, const TableNames& names, bool tied_output);

}  // namespace dragoman::imports

#pragma once

#include "weights/foreign_tensors.h"

#include <string>
#include <string_view>
#include <vector>

namespace dragoman::imports {

/// The tensors that the embeddings of encoder and decoder and the output matrix are read from.
struct TableTensors {
  std::string encoder;
  std::string decoder;
  std::string output;
  bool encoder_is_decoder = false;
  bool output_is_decoder = false;
};

/// The names that a family has for these tables.
struct TableNames {
  std::string_view shared;
  std::string_view encoder;
  std::string_view decoder;
  std::string_view output;
  /// Names from the three above, in the order in which transformers looks for one that stands for a missing `shared`.
  std::vector<std::string_view> substitutes;
};

/// Finds the tables as transformers 5 does where a configuration ties them: a table that the file has under its own
/// name keeps its values, and a missing one has the values of `shared`. Copies are compared by value, so the
/// configuration is no proof of equality. Where `tied_output` is false the output must be there.
/// Error{kBadInput} if there is no table at all.
TableTensors find_tables(const ForeignTensors& weights, const TableNames& names, bool tied_output);

}  // namespace dragoman::imports

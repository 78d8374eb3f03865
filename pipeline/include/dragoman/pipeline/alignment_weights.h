#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <dragoman/core/text_range.h>

namespace dragoman::pipeline {

/// The attention of each unit of one side to the units of the other side.
struct AlignmentWeights {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<double> values{};  ///< [rows][cols]

  double at(std::int64_t row, std::int64_t col) const { return values[static_cast<std::size_t>(row * cols + col)]; }
  double& at(std::int64_t row, std::int64_t col) { return values[static_cast<std::size_t>(row * cols + col)]; }
};

/// Computes the weights of words from the weights of pieces: the mean over the pieces of a row's word, and the sum over
/// the pieces of a column's word. A piece of several words gives an equal share to each.
AlignmentWeights join_pieces(const AlignmentWeights& pieces, const std::vector<core::TextRange>& row_words,
                             std::size_t rows, const std::vector<core::TextRange>& col_words, std::size_t cols);

/// Returns (row, column) of the greatest weight of every row; of equal weights, the first. With a threshold above 0:
/// (row, column) of all weights of at least that value.
std::vector<std::pair<std::int64_t, std::int64_t>> strongest(const AlignmentWeights& weights, double threshold);

}  // namespace dragoman::pipeline

#include "dragoman/pipeline/alignment_weights.h"

namespace dragoman::pipeline {

using core::TextRange;

AlignmentWeights join_pieces(const AlignmentWeights& pieces, const std::vector<TextRange>& row_words, std::size_t rows,
                             const std::vector<TextRange>& col_words, std::size_t cols) {
  AlignmentWeights words{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(cols),
                         std::vector<double>(rows * cols)};
  std::vector<double> pieces_of_row(rows);
  for (std::size_t i = 0; i < row_words.size(); ++i)
    for (std::size_t row = row_words[i].begin; row < row_words[i].end; ++row) {
      ++pieces_of_row[row];
      for (std::size_t j = 0; j < col_words.size(); ++j) {
        const auto share = static_cast<double>(col_words[j].end - col_words[j].begin);
        for (std::size_t col = col_words[j].begin; col < col_words[j].end; ++col)
          words.values[row * cols + col] +=
              pieces.at(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)) / share;
      }
    }
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t col = 0; col < cols && pieces_of_row[row] > 0; ++col)
      words.values[row * cols + col] /= pieces_of_row[row];
  return words;
}

std::vector<std::pair<std::int64_t, std::int64_t>> strongest(const AlignmentWeights& weights, double threshold) {
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (std::int64_t row = 0; row < weights.rows && weights.cols > 0; ++row) {
    std::int64_t best = 0;
    for (std::int64_t col = 0; col < weights.cols; ++col) {
      if (threshold > 0 && weights.at(row, col) >= threshold) found.emplace_back(row, col);
      if (weights.at(row, col) > weights.at(row, best)) best = col;
    }
    if (threshold <= 0) found.emplace_back(row, best);
  }
  return found;
}

}  // namespace dragoman::pipeline

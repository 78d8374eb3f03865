#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dragoman/pipeline_api/record.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::pipeline {

/// A source unit and a target unit (words, or pieces) that are translations of each other, both numbered from 0. Sorted
/// as Pharaoh lines are: by source, then by target.
struct Link {
  std::int32_t source = 0;
  std::int32_t target = 0;
  auto operator<=>(const Link&) const = default;
};
using Links = std::vector<Link>;

/// Attention of each unit of one side to the units of the other.
struct AlignmentWeights {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<double> values{};  ///< [rows][cols]

  double at(std::int64_t row, std::int64_t col) const { return values[static_cast<std::size_t>(row * cols + col)]; }
  double& at(std::int64_t row, std::int64_t col) { return values[static_cast<std::size_t>(row * cols + col)]; }
};

/// The stretches of a text between blanks (space, tab and the other ASCII ones), as programs that align split a line.
std::vector<TextRange> words_of(std::string_view text);

/// For each piece the words [begin, end) that it is of: those whose bytes it stands for. One that stands for none (the
/// mark in front of a word) goes with the piece behind it, or at the end with the one before. Empty ranges only where
/// there are no words.
std::vector<TextRange> words_of_pieces(const std::vector<tokenizer::Piece>& pieces,
                                       const std::vector<TextRange>& words);

/// Weights of words from those of pieces: the mean over the pieces of a row's word, the sum over those of a column's. A
/// piece of several words gives an equal share to each.
AlignmentWeights join_pieces(const AlignmentWeights& pieces, const std::vector<TextRange>& row_words, std::size_t rows,
                             const std::vector<TextRange>& col_words, std::size_t cols);

/// (row, column) of the greatest weight of every row, the first of equals; or, with a threshold above 0, of all weights
/// that are at least that.
std::vector<std::pair<std::int64_t, std::int64_t>> strongest(const AlignmentWeights& weights, double threshold);

enum class Symmetrization : std::uint8_t { kIntersection, kUnion, kGrowDiag, kGrowDiagFinal, kGrowDiagFinalAnd };

/// Joins the alignments that two directions gave (Och and Ney 2003; Koehn, Och and Marcu 2003; grow-diag and final as
/// in Koehn et al. 2005): `forward` of a model that reads the source, `backward` of one that reads the target;
/// both sorted and unique, and so is the result. Growing looks at target units from the left, source units within, and
/// neighbours in the order of the published pseudo-code; final adds what `forward` has before what `backward` has.
Links symmetrize(const Links& forward, const Links& backward, Symmetrization how);

/// "0-0 1-2".
std::string to_pharaoh(const Links& links);
/// Links of a Pharaoh line, sorted and unique. Error{kBadInput} that quotes a word that is no link, or whose numbers
/// are not below the sizes.
Links parse_pharaoh(std::string_view line, std::int64_t source_size, std::int64_t target_size);

}  // namespace dragoman::pipeline

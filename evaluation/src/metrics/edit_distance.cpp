#include "edit_distance.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/error.h>

namespace dragoman::evaluation {
namespace {

// Larger than any distance, and small enough that adding a cost cannot overflow.
constexpr int kUnreachable = 1 << 30;
constexpr std::ptrdiff_t kBeamWidth = 25;
// The cells of one segment take at most 800 MB. Segments of millions of words are files without line ends.
constexpr std::size_t kMaxCells = 100'000'000;

/// Returns half the width of the beam. A large difference of the lengths widens it, so that the beams of neighbouring
/// rows overlap.
std::ptrdiff_t beam_width(double length_ratio) {
  return kBeamWidth < length_ratio / 2 ? static_cast<std::ptrdiff_t>(std::ceil(length_ratio / 2 + kBeamWidth))
                                       : kBeamWidth;
}

}  // namespace

BeamEditDistance::BeamEditDistance(std::span<const std::uint32_t> reference, std::size_t hypothesis_length)
    : reference_(reference) {
  lay_out_bands(hypothesis_length);
  for (std::size_t column = 0; column <= reference.size(); ++column)
    cells_[column] = {static_cast<int>(column), Edit::kInsert};
}

void BeamEditDistance::lay_out_bands(std::size_t hypothesis_length) {
  const auto columns = static_cast<std::ptrdiff_t>(reference_.size()) + 1;
  const auto require_room = [&](std::size_t cells) {
    core::require(cells <= kMaxCells, core::ErrorCode::kUnsupported,
                  "a segment of {} words and its reference of {} are too long for TER; split them", hypothesis_length,
                  reference_.size());
  };
  require_room(reference_.size() + hypothesis_length);
  bands_.push_back({0, columns, 0});
  auto cells = static_cast<std::size_t>(columns);
  const double ratio =
      static_cast<double>(reference_.size()) / static_cast<double>(std::max<std::size_t>(hypothesis_length, 1));
  const std::ptrdiff_t width = beam_width(ratio);
  for (std::size_t row = 1; row <= hypothesis_length; ++row) {
    const auto diagonal = static_cast<std::ptrdiff_t>(std::floor(static_cast<double>(row) * ratio));
    const std::ptrdiff_t begin = std::max<std::ptrdiff_t>(0, diagonal - width);
    const std::ptrdiff_t end = row == hypothesis_length ? columns : std::min(columns, diagonal + width);
    bands_.push_back({begin, end, cells});
    cells += static_cast<std::size_t>(end - begin);
    require_room(cells);
  }
  cells_.reserve(cells);
  constexpr std::size_t kAtOnce = std::size_t{1} << 20;
  while (cells_.size() < cells) {
    check_stop_(kAtOnce);
    cells_.resize(std::min(cells, cells_.size() + kAtOnce), {kUnreachable, Edit::kNone});
  }
}

BeamEditDistance::Cell BeamEditDistance::cell(std::size_t row, std::ptrdiff_t column) const {
  const Band& band = bands_[row];
  if (column < band.begin || column >= band.end) return {kUnreachable, Edit::kNone};
  return cells_[band.cells + static_cast<std::size_t>(column - band.begin)];
}

void BeamEditDistance::fill_row(std::size_t row, std::uint32_t word) {
  const Band& band = bands_[row];
  check_stop_(static_cast<std::size_t>(band.end - band.begin));
  Cell left{kUnreachable, Edit::kNone};
  Cell diagonal = cell(row - 1, band.begin - 1);
  for (std::ptrdiff_t column = band.begin; column < band.end; ++column) {
    const Cell above = cell(row - 1, column);
    Cell best{kUnreachable, Edit::kNone};
    // On a tie the first edit wins. This order determines the alignment, and thus makes the candidate shifts equal to
    // Tercom's.
    const auto consider = [&best](int cost, Edit edit) {
      if (cost < best.cost) best = {cost, edit};
    };
    if (column > 0) {
      const bool same = word == reference_[static_cast<std::size_t>(column - 1)];
      consider(diagonal.cost + (same ? 0 : 1), same ? Edit::kMatch : Edit::kSubstitute);
    }
    consider(above.cost + 1, Edit::kDelete);
    if (column > 0) consider(left.cost + 1, Edit::kInsert);
    cells_[band.cells + static_cast<std::size_t>(column - band.begin)] = best;
    left = best;
    diagonal = above;
  }
}

int BeamEditDistance::operator()(const Words& hypothesis) {
  core::require(hypothesis.size() + 1 == bands_.size(), core::ErrorCode::kInternal,
                "the edit distance was laid out for {} words, not {}", bands_.size() - 1, hypothesis.size());
  check_stop_(hypothesis.size());
  const auto [changed, known] =
      std::mismatch(hypothesis.begin(), hypothesis.end(), hypothesis_.begin(), hypothesis_.end());
  for (auto word = changed; word != hypothesis.end(); ++word)
    fill_row(static_cast<std::size_t>(word - hypothesis.begin()) + 1, *word);
  hypothesis_ = hypothesis;
  return cell(hypothesis.size(), static_cast<std::ptrdiff_t>(reference_.size())).cost;
}

std::vector<Edit> BeamEditDistance::edits() const {
  std::vector<Edit> edits;
  std::size_t row = hypothesis_.size();
  auto column = static_cast<std::ptrdiff_t>(reference_.size());
  while (row > 0 || column > 0) {
    const Edit edit = cell(row, column).edit;
    core::require(edit != Edit::kNone, core::ErrorCode::kInternal,
                  "the edit distance's beam has a gap at row {}, column {}", row, column);
    edits.push_back(edit);
    if (edit != Edit::kInsert) --row;
    if (edit != Edit::kDelete) --column;
  }
  std::reverse(edits.begin(), edits.end());
  return edits;
}

}  // namespace dragoman::evaluation

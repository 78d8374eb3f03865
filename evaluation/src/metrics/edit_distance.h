#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dragoman::evaluation {

using Words = std::vector<std::uint32_t>;

/// A step that turns the hypothesis into the reference.
enum class Edit : std::uint8_t {
  kNone,        ///< outside the beam
  kMatch,       ///< the words are equal
  kSubstitute,  ///< a hypothesis word becomes a reference word
  kInsert,      ///< a reference word that the hypothesis lacks
  kDelete,      ///< a hypothesis word too many
};

/// Levenshtein distance of hypotheses of one length to a reference, within a beam around the diagonal (as sacreBLEU
/// lays it, so that the beam's errors are the same ones). Consecutive hypotheses mostly begin alike: rows of the common
/// beginning are kept. Memory grows with the beam, not with the product of the lengths.
class BeamEditDistance {
 public:
  /// The reference must outlive the object and not be empty.
  BeamEditDistance(std::span<const std::uint32_t> reference, std::size_t hypothesis_length);

  /// The fewest edits; `hypothesis` has the length announced.
  int operator()(const Words& hypothesis);
  /// The edits behind the last result, from the first word to the last.
  std::vector<Edit> edits() const;

 private:
  struct Cell {
    int cost;
    Edit edit;
  };
  /// Columns [begin, end) of a row; its cells lie from `cells` on.
  struct Band {
    std::ptrdiff_t begin;
    std::ptrdiff_t end;
    std::size_t cells;
  };

  void lay_out_bands(std::size_t hypothesis_length);
  void fill_row(std::size_t row, std::uint32_t word);
  Cell cell(std::size_t row, std::ptrdiff_t column) const;

  std::span<const std::uint32_t> reference_;
  std::vector<Band> bands_;
  std::vector<Cell> cells_;
  Words hypothesis_;
};

}  // namespace dragoman::evaluation

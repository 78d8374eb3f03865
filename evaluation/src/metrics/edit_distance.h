#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dragoman/core/stop_scope.h>

namespace dragoman::evaluation {

using Words = std::vector<std::uint32_t>;

/// A step of turning the hypothesis into the reference.
enum class Edit : std::uint8_t {
  kNone,        ///< outside the beam
  kMatch,       ///< the words are equal
  kSubstitute,  ///< a hypothesis word is replaced by a reference word
  kInsert,      ///< a reference word is missing in the hypothesis
  kDelete,      ///< a hypothesis word is superfluous
};

/// The Levenshtein distance of hypotheses of one length to a reference, within a beam around the diagonal. The beam is
/// sacreBLEU's, so that its errors are the same. Consecutive hypotheses mostly share a prefix, whose rows are kept.
/// Memory grows with the beam, not with the product of the lengths.
class BeamEditDistance {
 public:
  /// The reference must outlive the object and not be empty.
  BeamEditDistance(std::span<const std::uint32_t> reference, std::size_t hypothesis_length);

  /// Returns the smallest number of edits. `hypothesis` must have the length given to the constructor.
  int operator()(const Words& hypothesis);
  /// Returns the edits of the last result, from the first word to the last.
  std::vector<Edit> edits() const;

 private:
  struct Cell {
    int cost;
    Edit edit;
  };
  /// The columns [begin, end) of a row. Its cells start at index `cells`.
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
  core::StopCheck check_stop_{"computing TER"};
};

}  // namespace dragoman::evaluation

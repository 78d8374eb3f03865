#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dragoman::evaluation {

/// Numbers the distinct n-grams of several sequences, order by order. An n-gram is identified by the number of its
/// first n-1 symbols and by its last symbol. An order therefore costs one look-up of 8 bytes per position, however long
/// the n-grams are.
class NgramIndex {
 public:
  using Symbols = std::vector<std::uint32_t>;

  /// Starts at order 1.
  explicit NgramIndex(std::vector<Symbols> sequences);
  void next_order();

  /// Returns the number of n-grams of the current order in a sequence.
  std::int64_t total(std::size_t sequence) const { return static_cast<std::int64_t>(numbers_[sequence].size()); }
  std::span<const std::uint32_t> numbers(std::size_t sequence) const { return numbers_[sequence]; }
  /// Returns the count of each n-gram in a sequence, indexed by the n-gram's number.
  std::vector<std::uint32_t> counts(std::size_t sequence) const;

 private:
  void renumber();
  std::uint32_t number_of(std::uint64_t key);

  std::vector<Symbols> sequences_;
  std::vector<Symbols> numbers_;
  std::size_t order_ = 1;
  std::uint32_t distinct_ = 0;
  std::vector<std::uint64_t> slot_keys_;
  std::vector<std::uint32_t> slot_numbers_;
};

/// Returns the sum over n-grams of the smaller of their two counts.
std::int64_t matches(std::span<const std::uint32_t> hypothesis, std::span<const std::uint32_t> reference);

}  // namespace dragoman::evaluation

#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <dragoman/core/json_fwd.h>
#include <dragoman/corpus/filters.h>

namespace dragoman::corpus {

/// The largest length in each bucket of a histogram. One more bucket holds longer texts.
inline constexpr std::array<std::uint64_t, 12> kLengthBuckets = {0, 2, 5, 10, 15, 20, 30, 40, 60, 80, 120, 250};

/// Sums over texts. They do not depend on the order in which texts are added. Plain values: one thread at a time
/// may change them.
struct SideStatistics {
  std::uint64_t words = 0;
  std::uint64_t characters = 0;
  std::uint64_t bytes = 0;
  std::uint64_t length = 0;  ///< in the units of the filters
  std::array<std::uint64_t, kLengthBuckets.size() + 1> histogram{};

  void add(std::uint64_t text_bytes, std::uint64_t text_words, std::uint64_t text_characters,
           std::uint64_t text_length);
  SideStatistics& operator+=(const SideStatistics& other);
};

/// The statistics of both sides of a parallel text.
struct PairStatistics {
  std::uint64_t pairs = 0;
  SideStatistics source;
  SideStatistics target;

  PairStatistics& operator+=(const PairStatistics& other);
  /// Returns source units per target unit, or 0 if there are no target units.
  double ratio() const;
};

core::Json to_json(const PairStatistics& statistics);
/// Returns a table of both sides: pairs, words, characters, mean lengths and the histogram, in `unit`s. Each line ends
/// in LF.
std::string describe(const PairStatistics& statistics, LengthUnit unit);
std::string_view name_of(LengthUnit unit);

}  // namespace dragoman::corpus

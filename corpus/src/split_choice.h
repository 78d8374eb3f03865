#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::corpus {

/// A pair that may become part of a split.
struct Candidate {
  std::uint64_t number = 0;  ///< in the order of the pairs
  std::string source;
  std::string target;
};

/// Pairs of one source.
using SourceGroup = std::vector<Candidate>;

/// Draws so many pairs for validation and for test of a stream whose length is not known, source by source: all pairs
/// of a source go to one side, or to training. Sources are drawn by the smallest keys, a pure function of seed and
/// source, so every set of sources is as likely. A source with more pairs than there is room for is passed over, and
/// the next ones take its place.
class SplitChoice {
 public:
  SplitChoice(std::uint64_t validation, std::uint64_t test, std::uint64_t seed)
      : validation_(validation), test_(test), seed_(seed) {}
  /// Takes the pairs that turn out to be for training.
  using Release = std::function<void(const Candidate&)>;

  /// Whether it keeps the pair; if not, it is for training. What it keeps may push others out.
  bool offer(std::string_view source, std::string_view target, const Release& release);

  /// At the end, each in the order of the pairs: what is for validation, for test, and for training after all. There
  /// are fewer than wanted where no source is left that fits.
  struct Split {
    SourceGroup validation;
    SourceGroup test;
    SourceGroup rest;
  };
  Split finish();

 private:
  void drop(std::map<std::uint64_t, SourceGroup>::iterator group, const Release& release);

  std::uint64_t validation_;
  std::uint64_t test_;
  std::uint64_t seed_;
  std::uint64_t offered_ = 0;
  std::map<std::uint64_t, SourceGroup> groups_;  ///< by key
  std::uint64_t kept_ = 0;                       ///< pairs in them
  std::set<std::uint64_t> too_large_;            ///< keys of sources that fit nowhere
  /// Sources of larger keys are for training. It never grows: some of their pairs are there already.
  std::uint64_t largest_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace dragoman::corpus

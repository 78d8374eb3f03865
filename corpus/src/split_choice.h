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
  std::uint64_t number = 0;  ///< the position in the input
  std::string source;
  std::string target;
};

/// All pairs with the same source.
using SourceGroup = std::vector<Candidate>;

/// Selects random pairs for validation and test from a stream of unknown length. All pairs with the same source go to
/// the same set or to training. The sources with the smallest keys are selected. A key is a pure function of seed and
/// source, so every set of sources is equally likely. A source with more pairs than the set has room for is skipped,
/// and the next ones take its place.
class SplitChoice {
 public:
  SplitChoice(std::uint64_t validation, std::uint64_t test, std::uint64_t seed)
      : validation_(validation), test_(test), seed_(seed) {}
  /// Receives the pairs that turn out to be for training.
  using Release = std::function<void(const Candidate&)>;

  /// Offers a pair. Returns whether it is kept as a candidate; otherwise it is for training. Keeping it may release
  /// others.
  bool offer(std::string_view source, std::string_view target, const Release& release);

  /// The final selection: pairs for validation, for test, and released to training. Each is in input order. A set is
  /// smaller than requested if no remaining source fits.
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
  std::uint64_t kept_ = 0;                       ///< the number of pairs in groups_
  std::set<std::uint64_t> too_large_;            ///< keys of sources that fit into no set
  /// Sources with larger keys are for training. It never grows, because some of their pairs have been released already.
  std::uint64_t largest_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace dragoman::corpus

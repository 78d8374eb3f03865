#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

namespace dragoman::corpus {

/// A pair that may become part of a split.
struct Candidate {
  std::uint64_t key = 0;     ///< of (seed, source)
  std::uint64_t number = 0;  ///< in the order of the pairs
  std::string source;
  std::string target;
  bool operator<(const Candidate& other) const noexcept {
    return std::tie(key, number) < std::tie(other.key, other.number);
  }
};

/// Draws `count` of a stream of pairs whose length is not known: those whose keys are the smallest. The key is a pure
/// function of seed and source, so every set of so many sources is as likely, and pairs with one source go together.
class SplitChoice {
 public:
  SplitChoice(std::uint64_t count, std::uint64_t seed) : count_(count), seed_(seed) {}
  /// Takes the pair, or nothing of it. What it takes may push another one out, which is returned: it is for training.
  /// Returns the pair itself if it is not among the candidates.
  std::optional<Candidate> offer(std::string_view source, std::string_view target);
  /// The candidates, by their keys.
  const std::set<Candidate>& chosen() const noexcept { return chosen_; }

 private:
  std::uint64_t count_;
  std::uint64_t seed_;
  std::uint64_t offered_ = 0;
  std::set<Candidate> chosen_;
};

}  // namespace dragoman::corpus

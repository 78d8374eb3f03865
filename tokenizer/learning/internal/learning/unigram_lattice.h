#pragma once

#include "learning/symbol_trie.h"
#include "learning/symbol_words.h"

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace dragoman::tokenizer {

/// The pieces of a model as sums over segmentations need them.
struct UnigramScores {
  const SymbolTrie* trie = nullptr;
  std::vector<double> scores;   ///< logarithms
  std::vector<double> weights;  ///< exp(score) times `tilt` to the power of the length
  /// The logarithm of what each symbol is multiplied by. All segmentations of a word have the same share of it, so it
  /// changes no posterior; chosen as the negative mean score of a symbol it keeps products near 1.
  double tilt = 0;

  UnigramScores(const SymbolTrie& pieces_trie, std::span<const LearnedPiece> pieces, double log_tilt);
};

/// All segmentations of one word after the other. One thread at a time.
class UnigramLattice {
 public:
  explicit UnigramLattice(const UnigramScores& scores) : scores_(scores) {}

  /// The posterior expectation of each piece of the word, added up by visit(piece, expectation); returns the logarithm
  /// of the word's probability, or minus infinity where it has none.
  template <class Visit>
  double expect(std::span<const UnigramSymbol> word, Visit&& visit) {
    find_edges(word);
    if (!forward(word.size())) return expect_in_logs(word.size(), visit);
    const double probability = ways_[word.size()];
    ways_back_.assign(word.size() + 1, 0);
    ways_back_.back() = 1 / probability;
    for (auto edge = edges_.rbegin(); edge != edges_.rend(); ++edge) {
      const double onward = scores_.weights[edge->piece] * ways_back_[edge->end];
      ways_back_[edge->begin] += onward;
      visit(edge->piece, ways_[edge->begin] * onward);
    }
    return std::log(probability) - scores_.tilt * static_cast<double>(word.size());
  }

  /// The pieces of the most probable segmentation, from the last to the first. With `whole` = false the whole word as
  /// one piece does not count. Of equal ones, that whose last piece is longest. Empty: there is none.
  std::span<const std::uint32_t> best(std::span<const UnigramSymbol> word, bool whole = true);
  /// Its score.
  double best_score() const noexcept { return best_score_; }

 private:
  struct Edge {
    std::uint32_t piece;
    std::uint32_t begin;
    std::uint32_t end;
  };
  /// Products beyond this may lose digits, and what is divided by them leaves the range of a double.
  static constexpr double kLeast = 1e-200;

  void find_edges(std::span<const UnigramSymbol> word);
  /// The sums of products of the ways to each place; false if one of them is not between kLeast and its inverse.
  bool forward(std::size_t length);
  template <class Visit>
  double expect_in_logs(std::size_t length, Visit&& visit);
  void ways_in_logs(std::size_t length);

  const UnigramScores& scores_;
  std::vector<Edge> edges_;  // by their beginnings
  std::vector<double> ways_;
  std::vector<double> ways_back_;
  std::vector<Edge> last_;
  std::vector<std::uint32_t> path_;
  double best_score_ = 0;
};

template <class Visit>
double UnigramLattice::expect_in_logs(std::size_t length, Visit&& visit) {
  ways_in_logs(length);
  const double probability = ways_[length];
  if (!std::isfinite(probability)) return probability;
  for (const Edge& edge : edges_)
    visit(edge.piece, std::exp(ways_[edge.begin] + scores_.scores[edge.piece] + ways_back_[edge.end] - probability));
  return probability;
}

}  // namespace dragoman::tokenizer

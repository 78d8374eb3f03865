#pragma once

#include "learning/symbol_trie.h"
#include "learning/symbol_words.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace dragoman::tokenizer {

/// The pieces of a model in the form that sums over segmentations need.
struct UnigramScores {
  const SymbolTrie* trie = nullptr;
  std::vector<double> scores;   ///< logarithms
  std::vector<double> weights;  ///< exp(score) times `tilt` to the power of the length
  /// The logarithm of a factor for each symbol. All segmentations of a word have the same share of it, so posteriors do
  /// not change. As the negative mean score of a symbol, it keeps products near 1.
  double tilt = 0;

  UnigramScores(const SymbolTrie& pieces_trie, std::span<const LearnedPiece> pieces, double log_tilt);
};

/// Sums over all segmentations of a word, for one word after the other. One thread at a time.
class UnigramLattice {
 public:
  explicit UnigramLattice(const UnigramScores& scores) : scores_(scores) {}

  /// Calls visit(piece, expectation) with the posterior expectation of each piece of the word; the calls for one piece
  /// add up. Returns the logarithm of the word's probability, or minus infinity if it has none.
  template <class Visit>
  double expect(std::span<const UnigramSymbol> word, Visit&& visit) {
    begin(word);
    if (!forward()) return expect_in_logs(visit);
    const double probability = ways_[word.size()];
    ways_back_.assign(word.size() + 1, 0);
    ways_back_.back() = 1 / probability;
    for_each_edge_backwards([&](const Edge& edge) {
      const double onward = scores_.weights[edge.piece] * ways_back_[edge.end];
      ways_back_[edge.begin] += onward;
      visit(edge.piece, ways_[edge.begin] * onward);
    });
    return std::log(probability) - scores_.tilt * static_cast<double>(word.size());
  }

  /// Returns the pieces of the most probable segmentation, from the last to the first, or nothing if there is none.
  /// With `whole` = false, the whole word as one piece is excluded. Ties go to the longest last piece.
  std::span<const std::uint32_t> best(std::span<const UnigramSymbol> word, bool whole = true);
  /// Returns the score of that segmentation.
  double best_score() const noexcept { return best_score_; }

 private:
  struct Edge {
    std::uint32_t piece;
    std::uint32_t begin;
    std::uint32_t end;
  };
  /// Smaller products may lose digits, and quotients by them exceed the range of a double.
  static constexpr double kLeast = 1e-200;

  /// The number of positions whose edges are in memory. A longer word has the edges of each stretch found again when
  /// they are needed, since there may be dozens for each position.
  static constexpr std::size_t kStretch = std::size_t{1} << 16;
  static constexpr std::size_t kNoStretch = std::numeric_limits<std::size_t>::max();

  void begin(std::span<const UnigramSymbol> word);
  /// Finds the edges that begin in the stretch of kStretch positions from `first` on.
  void find_edges(std::size_t first);
  /// Calls visit(edge) for all edges of the word, in the order of `begin`, and of `end` for each.
  template <class Visit>
  void for_each_edge(Visit&& visit) {
    for (std::size_t first = 0; first < word_.size(); first += kStretch) {
      find_edges(first);
      for (const Edge& edge : edges_) visit(edge);
    }
  }
  /// Visits the edges in reverse order.
  template <class Visit>
  void for_each_edge_backwards(Visit&& visit) {
    for (std::size_t end = word_.size(); end > 0;) {
      const std::size_t first = (end - 1) / kStretch * kStretch;
      find_edges(first);
      for (auto edge = edges_.rbegin(); edge != edges_.rend(); ++edge) visit(*edge);
      end = first;
    }
  }
  /// Computes the sums of products of the paths to each position. Returns false if a sum is not between kLeast and its
  /// inverse.
  bool forward();
  template <class Visit>
  double expect_in_logs(Visit&& visit);
  void ways_in_logs();

  const UnigramScores& scores_;
  std::span<const UnigramSymbol> word_;
  std::size_t stretch_ = kNoStretch;  // the first position of the edges
  std::vector<Edge> edges_;           // of one stretch, sorted by `begin`
  std::vector<double> ways_;
  std::vector<double> ways_back_;
  std::vector<Edge> last_;
  std::vector<std::uint32_t> path_;
  double best_score_ = 0;
};

template <class Visit>
double UnigramLattice::expect_in_logs(Visit&& visit) {
  ways_in_logs();
  const double probability = ways_[word_.size()];
  if (!std::isfinite(probability)) return probability;
  for_each_edge([&](const Edge& edge) {
    visit(edge.piece, std::exp(ways_[edge.begin] + scores_.scores[edge.piece] + ways_back_[edge.end] - probability));
  });
  return probability;
}

}  // namespace dragoman::tokenizer

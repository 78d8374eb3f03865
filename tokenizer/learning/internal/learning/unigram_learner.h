#pragma once

#include "learning/symbol_words.h"
#include "reading/thread_arena.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

namespace dragoman::tokenizer {

/// Returns the derivative of the logarithm of the gamma function, for x > 0.
double digamma(double x);

/// The treatment of pieces of several symbols that are expected less than half a time: drop them, or count them as
/// half.
enum class RarePieces : std::uint8_t { kDrop, kKeep };

/// Computes the scores of pieces from their expected counts: digamma(count) - digamma(total) (Kudo 2018; Liang and
/// Klein 2007, "variational" M-step). A single symbol counts as at least one half and is kept.
void maximise(std::vector<LearnedPiece>& pieces, std::span<const double> expected, RarePieces rare);

struct UnigramExpectation {
  std::vector<double> expected;  ///< of each piece
  double log_likelihood = 0;     ///< of the corpus
};

struct UnigramSettings {
  std::size_t wanted = 0;  ///< the number of pieces, including every symbol
  double shrinking_factor = 0.75;
  int sub_iterations = 2;
};

/// Expectation maximisation and pruning. Sums over words are integers, so they do not depend on the order of the words
/// or on threads. Every step throws Error{kInterrupted} if `stop` is requested, before its next block of words.
class UnigramLearner {
 public:
  /// Called between the steps with the number of pieces and the mean log likelihood of a symbol.
  using Observer = std::function<void(std::size_t pieces, double log_likelihood_per_symbol)>;

  UnigramLearner(const UnigramWords& words, std::vector<LearnedPiece> seeds, const UnigramSettings& settings,
                 ThreadArena& arena, std::stop_token stop = {});

  /// Returns the pieces, at most `wanted`. They include every symbol.
  std::vector<LearnedPiece> run(const Observer& observe);

  /// Computes one E-step.
  UnigramExpectation expect() const;
  /// Returns the number of occurrences of each piece in the most probable segmentations of the words.
  std::vector<std::uint64_t> count_best() const;
  /// Keeps every symbol and, of the pieces in the best segmentations, the ones that are most costly to lose, up to
  /// `wanted` pieces in all.
  void prune(std::size_t wanted);

  const std::vector<LearnedPiece>& pieces() const noexcept { return pieces_; }

 private:
  void maximise_likelihood(RarePieces rare, const Observer& observe);

  const UnigramWords& words_;
  std::vector<LearnedPiece> pieces_;
  UnigramSettings settings_;
  ThreadArena& arena_;
  std::stop_token stop_;
  double occurrences_ = 0;  ///< of all symbols of the corpus
  double tilt_ = 0;
};

}  // namespace dragoman::tokenizer

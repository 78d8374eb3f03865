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

/// The derivative of the logarithm of the gamma function, for x > 0.
double digamma(double x);

/// What becomes of pieces of several symbols that are expected less than half a time: they go, or count half.
enum class RarePieces : std::uint8_t { kDrop, kKeep };

/// Scores of pieces from how often each is expected to occur: digamma(count) - digamma(total) (Kudo 2018; Liang and
/// Klein 2007, "variational" M-step). A single symbol counts half a time at least, and stays.
void maximise(std::vector<LearnedPiece>& pieces, std::span<const double> expected, RarePieces rare);

struct UnigramExpectation {
  std::vector<double> expected;  ///< of each piece
  double log_likelihood = 0;     ///< of the corpus
};

struct UnigramSettings {
  std::size_t wanted = 0;  ///< pieces, of which each symbol is one
  double shrinking_factor = 0.75;
  int sub_iterations = 2;
};

/// Expectation maximisation and pruning. The sums over words are made of whole numbers: they do not depend on the order
/// of words or on threads. Every step throws Error{kInterrupted} when `stop` asks, before its next block of words.
class UnigramLearner {
 public:
  /// Called between the steps with the number of pieces and the mean log likelihood of a symbol.
  using Observer = std::function<void(std::size_t pieces, double log_likelihood_per_symbol)>;

  UnigramLearner(const UnigramWords& words, std::vector<LearnedPiece> seeds, const UnigramSettings& settings,
                 ThreadArena& arena, std::stop_token stop = {});

  /// The pieces, as many as are wanted or fewer, every symbol among them.
  std::vector<LearnedPiece> run(const Observer& observe);

  /// One E-step.
  UnigramExpectation expect() const;
  /// How often each piece stands in the most probable segmentations of the words.
  std::vector<std::uint64_t> count_best() const;
  /// Keeps every symbol and, of the pieces that occur in best segmentations, those that cost most to lose, up to
  /// `wanted` in all.
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

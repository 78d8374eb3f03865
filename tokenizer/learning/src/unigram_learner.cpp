#include "learning/unigram_learner.h"

#include "interruption.h"
#include "learning/symbol_trie.h"
#include "learning/unigram_lattice.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>

namespace dragoman::tokenizer {
namespace {

/// Pieces with a smaller expected count are not significant.
constexpr double kLeastExpectation = 0.5;
/// The factor by which pieces exceed the requested number before the last pruning.
constexpr double kSurplus = 1.1;
/// The number of words that one task processes.
constexpr std::size_t kWordsPerBlock = 2048;
/// The limit of fixed-point sums. The bits that a double represents exactly would be too few for some corpora.
constexpr double kLargestSum = 4e18;
/// The limit of the mean log likelihood of a symbol: even a random Unicode character has 14.
constexpr double kLargestLogLikelihood = 256;

/// The sums of one thread.
struct FixedPointSums {
  explicit FixedPointSums(std::size_t size) : sums(size) {}
  std::vector<std::int64_t> sums;
  std::int64_t log_likelihood = 0;
};

std::size_t blocks_of(const UnigramWords& words) {
  return (words.size() + kWordsPerBlock - 1) / kWordsPerBlock;
}

/// Calls body(block, sums) for each block of words, with separate sums for each thread. Returns the total.
template <class Body>
FixedPointSums sum_over_blocks(ThreadArena& arena, const std::stop_token& stop, const UnigramWords& words,
                               std::size_t size, const Body& body) {
  std::vector<FixedPointSums> sums(static_cast<std::size_t>(arena.threads()), FixedPointSums(size));
  std::atomic<std::size_t> next = 0;
  arena.for_each(sums.size(), [&](std::size_t thread) {
    for (std::size_t block = next++; block < blocks_of(words); block = next++) {
      check_not_stopped(stop);
      body(block, sums[thread]);
    }
  });
  for (std::size_t thread = 1; thread < sums.size(); ++thread) {
    sums[0].log_likelihood += sums[thread].log_likelihood;
    for (std::size_t i = 0; i < size; ++i) sums[0].sums[i] += sums[thread].sums[i];
  }
  return std::move(sums[0]);
}

void count_best_of_block(const UnigramWords& words, std::size_t block, const UnigramScores& scores,
                         std::vector<std::int64_t>& counts) {
  UnigramLattice lattice(scores);
  const std::size_t end = std::min(words.size(), (block + 1) * kWordsPerBlock);
  for (std::size_t i = block * kWordsPerBlock; i < end; ++i)
    for (const std::uint32_t piece : lattice.best(words[i]))
      counts[piece] += static_cast<std::int64_t>(words.counts[i]);
}

}  // namespace

double digamma(double x) {
  constexpr double kAsymptotic = 8;
  double result = 0;
  for (; x < kAsymptotic; ++x) result -= 1 / x;
  const double inverse = 1 / (x * x);
  // Abramowitz and Stegun 6.3.18: B_2k / (2k x^2k)
  return result + std::log(x) - 0.5 / x -
         inverse * (1.0 / 12 -
                    inverse * (1.0 / 120 -
                               inverse * (1.0 / 252 -
                                          inverse * (1.0 / 240 - inverse * (1.0 / 132 - inverse * 691.0 / 32760)))));
}

void maximise(std::vector<LearnedPiece>& pieces, std::span<const double> expected, RarePieces rare) {
  std::size_t kept = 0;
  double total = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (rare == RarePieces::kDrop && expected[i] < kLeastExpectation && pieces[i].symbols.size() > 1) continue;
    const double count = std::max(expected[i], kLeastExpectation);
    if (kept != i) pieces[kept].symbols = std::move(pieces[i].symbols);
    pieces[kept++].score = digamma(count);
    total += count;
  }
  pieces.resize(kept);
  for (LearnedPiece& piece : pieces) piece.score -= digamma(total);
}

UnigramLearner::UnigramLearner(const UnigramWords& words, std::vector<LearnedPiece> seeds,
                               const UnigramSettings& settings, ThreadArena& arena, std::stop_token stop)
    : words_(words), pieces_(std::move(seeds)), settings_(settings), arena_(arena), stop_(std::move(stop)) {
  for (std::size_t i = 0; i < words.size(); ++i)
    occurrences_ += static_cast<double>(words.counts[i]) * static_cast<double>(words[i].size());
}

UnigramExpectation UnigramLearner::expect() const {
  const SymbolTrie trie(pieces_);
  const UnigramScores scores(trie, pieces_, tilt_);
  const double scale = std::exp2(std::floor(std::log2(kLargestSum / occurrences_)));
  const double likelihood_scale = scale / kLargestLogLikelihood;
  const FixedPointSums sums =
      sum_over_blocks(arena_, stop_, words_, pieces_.size(), [&](std::size_t block, FixedPointSums& mine) {
        UnigramLattice lattice(scores);
        const std::size_t end = std::min(words_.size(), (block + 1) * kWordsPerBlock);
        for (std::size_t i = block * kWordsPerBlock; i < end; ++i) {
          const double count = static_cast<double>(words_.counts[i]);
          const double weight = count * scale;
          const double likelihood = lattice.expect(words_[i], [&](std::uint32_t piece, double expectation) {
            mine.sums[piece] += static_cast<std::int64_t>(expectation * weight);
          });
          if (std::isfinite(likelihood))
            mine.log_likelihood += static_cast<std::int64_t>(likelihood * count * likelihood_scale);
        }
      });
  UnigramExpectation result{.expected = std::vector<double>(pieces_.size())};
  result.log_likelihood = static_cast<double>(sums.log_likelihood) / likelihood_scale;
  for (std::size_t i = 0; i < pieces_.size(); ++i) result.expected[i] = static_cast<double>(sums.sums[i]) / scale;
  return result;
}

std::vector<std::uint64_t> UnigramLearner::count_best() const {
  const SymbolTrie trie(pieces_);
  const UnigramScores scores(trie, pieces_, 0);
  const FixedPointSums sums = sum_over_blocks(
      arena_, stop_, words_, pieces_.size(),
      [&](std::size_t block, FixedPointSums& mine) { count_best_of_block(words_, block, scores, mine.sums); });
  return {sums.sums.begin(), sums.sums.end()};
}

/// The loss of a piece is the decrease in likelihood of the best segmentations if its second-best segmentation replaces
/// it, with all counts adjusted accordingly.
void UnigramLearner::prune(std::size_t wanted) {
  struct Candidate {
    std::uint32_t piece;
    double loss;
  };
  const std::vector<std::uint64_t> counts = count_best();
  const SymbolTrie trie(pieces_);
  const UnigramScores scores(trie, pieces_, 0);
  double total = 0;
  for (const std::uint64_t count : counts) total += static_cast<double>(count);
  // Not set: the piece is dropped without loss, or must be kept.
  std::vector<std::optional<double>> losses(pieces_.size());
  core::for_each_range(arena_.executor(), static_cast<std::int64_t>(pieces_.size()), kWordsPerBlock,
                       [&](std::int64_t begin, std::int64_t end) {
                         check_not_stopped(stop_);
                         UnigramLattice lattice(scores);
                         for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
                           if (counts[i] == 0 || pieces_[i].symbols.size() == 1) continue;
                           const auto alternative = lattice.best(pieces_[i].symbols, false);
                           if (alternative.empty() || lattice.best_score() >= pieces_[i].score) continue;
                           const double count = static_cast<double>(counts[i]);
                           double other = 0;
                           for (const std::uint32_t part : alternative)
                             other += std::log(static_cast<double>(counts[part]) + count);
                           other -= static_cast<double>(alternative.size()) *
                                    std::log(total + count * static_cast<double>(alternative.size() - 1));
                           losses[i] = count * (std::log(count) - std::log(total) - other);
                         }
                       });
  std::vector<Candidate> candidates;
  std::vector<LearnedPiece> kept;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].symbols.size() == 1)
      kept.push_back(std::move(pieces_[i]));
    else if (losses[i])
      candidates.push_back({static_cast<std::uint32_t>(i), *losses[i]});
  }
  std::ranges::stable_sort(candidates, std::greater<>(), &Candidate::loss);
  if (candidates.size() > wanted - std::min(wanted, kept.size()))
    candidates.resize(wanted - std::min(wanted, kept.size()));
  std::ranges::sort(candidates, std::less<>(), &Candidate::piece);
  for (const Candidate& candidate : candidates) kept.push_back(std::move(pieces_[candidate.piece]));
  pieces_ = std::move(kept);
}

void UnigramLearner::maximise_likelihood(RarePieces rare, const Observer& observe) {
  for (int i = 0; i < settings_.sub_iterations; ++i) {
    const UnigramExpectation expectation = expect();
    const double mean = expectation.log_likelihood / occurrences_;
    tilt_ = -mean;
    maximise(pieces_, expectation.expected, rare);
    observe(pieces_.size(), mean);
  }
}

std::vector<LearnedPiece> UnigramLearner::run(const Observer& observe) {
  // Before the first expectation: the mean score that the seeds give to a symbol.
  const auto surplus = static_cast<std::size_t>(static_cast<double>(settings_.wanted) * kSurplus);
  for (;;) {
    maximise_likelihood(RarePieces::kDrop, observe);
    if (pieces_.size() <= surplus) break;
    const auto smaller = static_cast<std::size_t>(settings_.shrinking_factor * static_cast<double>(pieces_.size()));
    prune(std::max(surplus, smaller));
  }
  if (pieces_.size() > settings_.wanted) {
    prune(settings_.wanted);
    maximise_likelihood(RarePieces::kKeep, observe);  // no other piece could replace one that is dropped now
  }
  return std::move(pieces_);
}

}  // namespace dragoman::tokenizer

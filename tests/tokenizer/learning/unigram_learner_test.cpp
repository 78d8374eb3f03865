#include "learning/unigram_learner.h"

#include "error_message.h"
#include "learning/symbol_trie.h"
#include "learning/unigram_lattice.h"

#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <stop_token>
#include <vector>

#include <gtest/gtest.h>

namespace dragoman::tokenizer {
namespace {

using Text = std::vector<UnigramSymbol>;

struct Corpus {
  UnigramWords words;
  std::vector<LearnedPiece> pieces;
};

Text random_symbols(std::mt19937& random, std::size_t least, std::size_t most) {
  Text text(least + random() % (most - least + 1));
  for (UnigramSymbol& symbol : text) symbol = 1 + random() % 3;
  return text;
}

Corpus random_corpus(std::mt19937& random) {
  Corpus corpus;
  corpus.words.begins.push_back(0);
  for (std::size_t i = 0; i < 6; ++i) {
    const Text word = random_symbols(random, 1, 9);
    corpus.words.symbols.insert(corpus.words.symbols.end(), word.begin(), word.end());
    corpus.words.symbols.push_back(0);
    corpus.words.begins.push_back(static_cast<std::uint32_t>(corpus.words.symbols.size()));
    corpus.words.counts.push_back(1 + random() % 50);
  }
  std::set<Text> texts = {{1}, {2}, {3}};
  for (std::size_t i = 0; i < 8; ++i) texts.insert(random_symbols(random, 2, 5));
  std::vector<double> weights;
  for (std::size_t i = 0; i < texts.size(); ++i) weights.push_back(1 + random() % 100);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (const Text& text : texts) corpus.pieces.push_back({text, std::log(weights[corpus.pieces.size()] / total)});
  return corpus;
}

/// Every segmentation of a word.
void segmentations(std::span<const UnigramSymbol> word, const std::vector<LearnedPiece>& pieces,
                   std::vector<std::size_t>& path, std::vector<std::vector<std::size_t>>& all) {
  if (word.empty()) all.push_back(path);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Text& piece = pieces[i].symbols;
    if (piece.size() > word.size() || !std::equal(piece.begin(), piece.end(), word.begin())) continue;
    path.push_back(i);
    segmentations(word.subspan(piece.size()), pieces, path, all);
    path.pop_back();
  }
}

std::vector<std::vector<std::size_t>> segmentations(std::span<const UnigramSymbol> word,
                                                    const std::vector<LearnedPiece>& pieces) {
  std::vector<std::vector<std::size_t>> all;
  std::vector<std::size_t> path;
  segmentations(word, pieces, path, all);
  return all;
}

double score_of(const std::vector<std::size_t>& path, const std::vector<LearnedPiece>& pieces) {
  double score = 0;
  for (const std::size_t i : path) score += pieces[i].score;
  return score;
}

UnigramExpectation expect_by_enumeration(const Corpus& corpus) {
  UnigramExpectation result{.expected = std::vector<double>(corpus.pieces.size())};
  for (std::size_t w = 0; w < corpus.words.size(); ++w) {
    const auto all = segmentations(corpus.words[w], corpus.pieces);
    double probability = 0;
    for (const auto& path : all) probability += std::exp(score_of(path, corpus.pieces));
    const auto count = static_cast<double>(corpus.words.counts[w]);
    for (const auto& path : all)
      for (const std::size_t i : path)
        result.expected[i] += count * std::exp(score_of(path, corpus.pieces)) / probability;
    result.log_likelihood += count * std::log(probability);
  }
  return result;
}

TEST(UnigramLearner, DigammaHasItsKnownValues) {
  // Abramowitz and Stegun, 6.3.2, 6.3.3 and table 6.1.
  EXPECT_NEAR(digamma(1), -0.57721566490153286, 1e-13);
  EXPECT_NEAR(digamma(0.5), -1.96351002602142348, 1e-13);
  EXPECT_NEAR(digamma(2), 0.42278433509846714, 1e-13);
  EXPECT_NEAR(digamma(10), 2.25175258906672110, 1e-13);
  for (const double x : {0.1, 0.7, 3.3, 7.9, 8.0, 123.4}) EXPECT_NEAR(digamma(x + 1) - digamma(x), 1 / x, 1e-13) << x;
}

TEST(UnigramLearner, ExpectsWhatAllSegmentationsSay) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const Corpus corpus = random_corpus(random);
    const UnigramExpectation truth = expect_by_enumeration(corpus);
    for (const int threads : {1, 2, 3}) {
      ThreadArena arena(threads);
      const UnigramExpectation found = UnigramLearner(corpus.words, corpus.pieces, {.wanted = 1}, arena).expect();
      EXPECT_NEAR(found.log_likelihood, truth.log_likelihood, 1e-9 * std::abs(truth.log_likelihood));
      for (std::size_t i = 0; i < corpus.pieces.size(); ++i)
        EXPECT_NEAR(found.expected[i], truth.expected[i], 1e-9) << i;
    }
  }
}

/// What does not fit a double as a product goes by logarithms; the tilt brings it back, and both say the same.
TEST(UnigramLearner, LongWordsKeepTheirDigits) {
  std::mt19937 random(5);
  Corpus corpus = random_corpus(random);
  const Text word = random_symbols(random, 3000, 3000);
  const SymbolTrie trie(corpus.pieces);
  const auto expectation = [&](double tilt, double& log_probability) {
    const UnigramScores scores(trie, corpus.pieces, tilt);
    std::vector<double> expected(corpus.pieces.size());
    log_probability =
        UnigramLattice(scores).expect(word, [&](std::uint32_t piece, double share) { expected[piece] += share; });
    return expected;
  };
  double in_logs = 0;
  const std::vector<double> by_logs = expectation(0, in_logs);
  EXPECT_LT(in_logs, -800) << "no double holds the probability";
  double tilted = 0;
  const std::vector<double> by_products = expectation(-in_logs / 3000, tilted);
  EXPECT_NEAR(tilted, in_logs, 1e-6);
  double symbols = 0;
  for (std::size_t i = 0; i < by_logs.size(); ++i) {
    EXPECT_NEAR(by_products[i], by_logs[i], 1e-7);
    symbols += by_logs[i] * static_cast<double>(corpus.pieces[i].symbols.size());
  }
  EXPECT_NEAR(symbols, 3000, 1e-6) << "every symbol is in one piece";
}

/// A word whose first half is much rarer than its second: the tilt brings the whole near 1, and the middle as far below
/// as `depth` powers of ten.
TEST(UnigramLearner, WordsThatLeaveTheRangeOnTheWayKeepTheirDigits) {
  constexpr std::size_t kHalf = 100;
  Text word(kHalf, 1);
  word.resize(2 * kHalf, 2);
  for (int depth = 150; depth < 420; depth += 3) {
    SCOPED_TRACE(depth);
    const double rare = -0.7 - 2 * depth * std::log(10.0) / kHalf;
    const std::vector<LearnedPiece> pieces = {
        {{1}, rare}, {{2}, -0.7}, {{1, 1}, 2 * rare - 1}, {{2, 2}, -2.4}, {{1, 2}, rare - 2}};
    const SymbolTrie trie(pieces);
    const auto expectation = [&](double tilt, double& log_probability) {
      const UnigramScores scores(trie, pieces, tilt);
      std::vector<double> expected(pieces.size());
      log_probability =
          UnigramLattice(scores).expect(word, [&](std::uint32_t piece, double share) { expected[piece] += share; });
      return expected;
    };
    double in_logs = 0;
    const std::vector<double> by_logs = expectation(0, in_logs);
    double tilted = 0;
    const std::vector<double> by_products = expectation(-in_logs / (2 * kHalf), tilted);
    EXPECT_NEAR(tilted, in_logs, 1e-6);
    double symbols = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      EXPECT_NEAR(by_products[i], by_logs[i], 1e-7) << i;
      symbols += by_products[i] * static_cast<double>(pieces[i].symbols.size());
    }
    EXPECT_NEAR(symbols, 2 * kHalf, 1e-6) << "every symbol is in one piece";
  }
}

TEST(UnigramLearner, FindsTheBestSegmentationWithAndWithoutTheWhole) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    const Corpus corpus = random_corpus(random);
    const SymbolTrie trie(corpus.pieces);
    const UnigramScores scores(trie, corpus.pieces, 0);
    UnigramLattice lattice(scores);
    const Text word =
        round % 2 == 0 ? random_symbols(random, 1, 8) : corpus.pieces[random() % corpus.pieces.size()].symbols;
    for (const bool whole : {true, false}) {
      double best = -1e300;
      for (const auto& path : segmentations(word, corpus.pieces))
        if (whole || path.size() > 1) best = std::max(best, score_of(path, corpus.pieces));
      const auto found = lattice.best(word, whole);
      if (best == -1e300) {
        EXPECT_TRUE(found.empty());
        continue;
      }
      EXPECT_NEAR(lattice.best_score(), best, 1e-9);
      Text spelled;
      for (auto piece = found.rbegin(); piece != found.rend(); ++piece)
        spelled.insert(spelled.end(), corpus.pieces[*piece].symbols.begin(), corpus.pieces[*piece].symbols.end());
      EXPECT_EQ(spelled, word);
    }
  }
}

TEST(UnigramLearner, MaximisesAsThePaperSays) {
  std::vector<LearnedPiece> pieces = {{{1}, 0}, {{2}, 0}, {{1, 2}, 0}, {{2, 1}, 0}};
  const std::vector<double> expected = {10, 0.1, 5, 0.4};
  std::vector<LearnedPiece> all = pieces;
  maximise(all, expected, RarePieces::kKeep);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_NEAR(all[3].score, digamma(0.5) - digamma(16), 1e-12);
  maximise(pieces, expected, RarePieces::kDrop);
  ASSERT_EQ(pieces.size(), 3U) << "2 1 is hardly expected; 2 is a symbol and stays";
  EXPECT_EQ(pieces[2].symbols, (Text{1, 2}));
  EXPECT_NEAR(pieces[0].score, digamma(10) - digamma(15.5), 1e-12);
  EXPECT_NEAR(pieces[1].score, digamma(0.5) - digamma(15.5), 1e-12);
  EXPECT_NEAR(pieces[2].score, digamma(5) - digamma(15.5), 1e-12);
}

/// Without the M-step's prior, expectation maximisation never makes the corpus less likely.
TEST(UnigramLearner, ExpectationMaximisationRaisesTheLikelihood) {
  std::mt19937 random(17);
  for (int round = 0; round < 100; ++round) {
    Corpus corpus = random_corpus(random);
    double before = -1e300;
    for (int step = 0; step < 5; ++step) {
      ThreadArena arena(1);
      const UnigramExpectation found = UnigramLearner(corpus.words, corpus.pieces, {.wanted = 1}, arena).expect();
      EXPECT_GE(found.log_likelihood, before - 1e-6);
      before = found.log_likelihood;
      const double total = std::accumulate(found.expected.begin(), found.expected.end(), 0.0);
      for (std::size_t i = 0; i < corpus.pieces.size(); ++i)
        corpus.pieces[i].score = std::log(std::max(found.expected[i], 1e-9) / total);
    }
  }
}

/// What prune() leaves is what the losses say, computed from all segmentations.
TEST(UnigramLearner, PrunesWhatCostsLeast) {
  std::mt19937 random(23);
  int compared = 0;
  for (int round = 0; round < 300; ++round) {
    const Corpus corpus = random_corpus(random);
    ThreadArena arena(1 + round % 3);
    UnigramLearner learner(corpus.words, corpus.pieces, {.wanted = 1}, arena);
    const std::vector<std::uint64_t> counts = learner.count_best();
    std::vector<double> truth(corpus.pieces.size());
    for (std::size_t w = 0; w < corpus.words.size(); ++w) {
      std::vector<std::size_t> best;
      double best_score = -1e300;
      for (const auto& path : segmentations(corpus.words[w], corpus.pieces))
        if (score_of(path, corpus.pieces) > best_score) best_score = score_of(best = path, corpus.pieces);
      for (const std::size_t i : best) truth[i] += static_cast<double>(corpus.words.counts[w]);
    }
    double total = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) total += truth[i];
    // Ties between segmentations may fall either way; such corpora say nothing.
    bool same = true;
    for (std::size_t i = 0; i < truth.size(); ++i) same = same && truth[i] == static_cast<double>(counts[i]);
    if (!same) continue;
    std::multimap<double, std::size_t, std::greater<>> losses;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      if (truth[i] == 0 || corpus.pieces[i].symbols.size() == 1) continue;
      std::vector<std::size_t> other;
      double other_score = -1e300;
      for (const auto& path : segmentations(corpus.pieces[i].symbols, corpus.pieces))
        if (path.size() > 1 && score_of(path, corpus.pieces) > other_score)
          other_score = score_of(other = path, corpus.pieces);
      if (other_score >= corpus.pieces[i].score) continue;
      double after = 0;
      for (const std::size_t part : other)
        after += std::log((truth[part] + truth[i]) / (total + truth[i] * static_cast<double>(other.size() - 1)));
      losses.emplace(truth[i] * (std::log(truth[i] / total) - after), i);
    }
    const std::size_t wanted = 3 + random() % (losses.size() + 1);
    std::set<Text> expected = {{1}, {2}, {3}};
    for (const auto& [loss, i] : losses)
      if (expected.size() < wanted) expected.insert(corpus.pieces[i].symbols);
    learner.prune(wanted);
    std::set<Text> kept;
    for (const LearnedPiece& piece : learner.pieces()) kept.insert(piece.symbols);
    EXPECT_EQ(kept, expected);
    ++compared;
  }
  EXPECT_GT(compared, 200);
}

TEST(UnigramLearner, AStopEndsEveryStep) {
  std::mt19937 random(3);
  const Corpus corpus = random_corpus(random);
  std::stop_source stop;
  for (const int threads : {1, 3}) {
    ThreadArena arena(threads);
    const auto message = [&](auto step) {
      UnigramLearner learner(corpus.words, corpus.pieces, {.wanted = 3}, arena, stop.get_token());
      return testing::message_of([&] { step(learner); }, core::ErrorCode::kInterrupted);
    };
    UnigramLearner(corpus.words, corpus.pieces, {.wanted = 3}, arena, std::stop_source().get_token()).prune(3);
    stop.request_stop();
    EXPECT_NE(message([](UnigramLearner& learner) { learner.expect(); }).find("nothing was written"),
              std::string::npos);
    EXPECT_NE(message([](UnigramLearner& learner) { learner.count_best(); }), "");
    EXPECT_NE(message([](UnigramLearner& learner) { learner.prune(3); }), "");
  }
}

}  // namespace
}  // namespace dragoman::tokenizer

#include "learning/unigram_lattice.h"

#include "base/add_in_logs.h"

#include <algorithm>
#include <limits>

namespace dragoman::tokenizer {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

}  // namespace

UnigramScores::UnigramScores(const SymbolTrie& pieces_trie, std::span<const LearnedPiece> pieces, double log_tilt)
    : trie(&pieces_trie), tilt(log_tilt) {
  scores.reserve(pieces.size());
  weights.reserve(pieces.size());
  for (const LearnedPiece& piece : pieces) {
    scores.push_back(piece.score);
    weights.push_back(std::exp(piece.score + tilt * static_cast<double>(piece.symbols.size())));
  }
}

void UnigramLattice::begin(std::span<const UnigramSymbol> word) {
  word_ = word;
  stretch_ = kNoStretch;
}

void UnigramLattice::find_edges(std::size_t first) {
  if (stretch_ == first) return;
  stretch_ = first;
  edges_.clear();
  for (std::size_t begin = first; begin < std::min(first + kStretch, word_.size()); ++begin)
    scores_.trie->for_each_prefix(word_.subspan(begin), [&](std::int32_t piece, std::size_t length) {
      edges_.push_back({static_cast<std::uint32_t>(piece), static_cast<std::uint32_t>(begin),
                        static_cast<std::uint32_t>(begin + length)});
    });
}

bool UnigramLattice::forward() {
  ways_.assign(word_.size() + 1, 0);
  ways_[0] = 1;
  for_each_edge([&](const Edge& edge) { ways_[edge.end] += ways_[edge.begin] * scores_.weights[edge.piece]; });
  return std::ranges::all_of(ways_, [](double way) { return way > kLeast && way < 1 / kLeast; });
}

void UnigramLattice::ways_in_logs() {
  const std::size_t length = word_.size();
  ways_.assign(length + 1, kNever);
  ways_back_.assign(length + 1, kNever);
  ways_[0] = ways_back_[length] = 0;
  for_each_edge([&](const Edge& edge) {
    ways_[edge.end] = add_in_logs(ways_[edge.end], ways_[edge.begin] + scores_.scores[edge.piece]);
  });
  for_each_edge_backwards([&](const Edge& edge) {
    ways_back_[edge.begin] = add_in_logs(ways_back_[edge.begin], ways_back_[edge.end] + scores_.scores[edge.piece]);
  });
}

std::span<const std::uint32_t> UnigramLattice::best(std::span<const UnigramSymbol> word, bool whole) {
  begin(word);
  ways_.assign(word.size() + 1, kNever);
  last_.resize(word.size() + 1);
  ways_[0] = 0;
  for_each_edge([&](const Edge& edge) {
    if (!whole && edge.begin == 0 && edge.end == word.size()) return;
    const double score = ways_[edge.begin] + scores_.scores[edge.piece];
    if (score <= ways_[edge.end]) return;
    ways_[edge.end] = score;
    last_[edge.end] = edge;
  });
  path_.clear();
  best_score_ = ways_.back();
  if (best_score_ == kNever) return path_;
  for (std::uint32_t end = static_cast<std::uint32_t>(word.size()); end > 0; end = last_[end].begin)
    path_.push_back(last_[end].piece);
  return path_;
}

}  // namespace dragoman::tokenizer

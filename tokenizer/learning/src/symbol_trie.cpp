#include "learning/symbol_trie.h"

#include <algorithm>
#include <numeric>

namespace dragoman::tokenizer {

/// The sorted pieces [begin, end), which share their first `depth` symbols. These lead to `node`.
struct SymbolTrie::Range {
  std::size_t begin;
  std::size_t end;
  std::size_t depth;
  std::uint32_t node;
};

SymbolTrie::SymbolTrie(std::span<const LearnedPiece> pieces) {
  for (const LearnedPiece& piece : pieces) largest_ = std::max(largest_, std::ranges::max(piece.symbols));
  std::vector<std::uint32_t> sorted(pieces.size());
  std::iota(sorted.begin(), sorted.end(), 0U);
  std::ranges::sort(sorted, [&](std::uint32_t a, std::uint32_t b) { return pieces[a].symbols < pieces[b].symbols; });
  const auto symbols = [&](std::size_t i) -> const std::vector<UnigramSymbol>& { return pieces[sorted[i]].symbols; };
  reserve(std::size_t{largest_} + 2);
  units_[0].parent = 0;  // the root is not the child of any node
  std::vector<Range> open = {{0, pieces.size(), 0, 0}};
  std::vector<Range> below;
  std::vector<UnigramSymbol> labels;
  while (!open.empty()) {
    const Range range = open.back();
    open.pop_back();
    std::size_t i = range.begin;
    if (i < range.end && symbols(i).size() == range.depth)
      units_[range.node].piece = static_cast<std::int32_t>(sorted[i++]);
    below.clear();
    labels.clear();
    while (i < range.end) {
      const UnigramSymbol label = symbols(i)[range.depth];
      std::size_t end = i + 1;
      while (end < range.end && symbols(end)[range.depth] == label) ++end;
      labels.push_back(label);
      below.push_back({i, end, range.depth + 1, 0});
      i = end;
    }
    if (labels.empty()) {
      units_[range.node].children = 0;  // every unit there has another parent, except for the root's children
      continue;
    }
    const std::uint32_t children = find_room(labels);
    units_[range.node].children = children;
    for (std::size_t child = 0; child < labels.size(); ++child) {
      below[child].node = children + labels[child];
      units_[below[child].node].parent = range.node;
    }
    open.insert(open.end(), below.rbegin(), below.rend());
  }
  reserve(units_.size() + largest_ + 1);  // so that no access to a child is beyond the end
}

void SymbolTrie::reserve(std::size_t size) {
  if (size > units_.size()) units_.resize(std::max(size, units_.size() * 2));
}

/// Returns the first base at which all children fit.
std::uint32_t SymbolTrie::find_room(std::span<const UnigramSymbol> labels) {
  while (first_free_ < units_.size() && units_[first_free_].parent != kFree) ++first_free_;
  std::size_t looked = 0;
  std::size_t at = std::max<std::size_t>(first_free_, labels.front());
  for (;; ++at, ++looked) {
    const std::size_t children = at - labels.front();
    reserve(children + largest_ + 1);
    if (std::ranges::all_of(labels, [&](UnigramSymbol label) { return units_[children + label].parent == kFree; })) {
      // Nearly all of the searched units are taken, so the next search skips them.
      if (looked > 4096) first_free_ = at - 64;
      return static_cast<std::uint32_t>(children);
    }
  }
}

}  // namespace dragoman::tokenizer

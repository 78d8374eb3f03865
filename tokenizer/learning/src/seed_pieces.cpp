#include "learning/seed_pieces.h"

#include "interruption.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace dragoman::tokenizer {
namespace {

constexpr std::size_t kSymbolsPerKey = 3;
constexpr unsigned kBitsPerSymbol = 21;  // code points are below 2^21, and so are alphabets

/// Suffixes of the words, limited to a length, sorted by their symbols.
class SuffixSorter {
 public:
  struct Suffix {
    std::uint64_t key;
    std::uint32_t begin;
  };

  SuffixSorter(std::span<const UnigramSymbol> symbols, std::size_t max_length)
      : symbols_(symbols), max_length_(max_length) {}

  /// Sorts suffixes that agree in their first `depth` symbols.
  void sort(std::span<Suffix> suffixes, std::size_t depth) const {
    for (Suffix& suffix : suffixes) suffix.key = key_of(suffix.begin, depth);
    std::ranges::sort(suffixes, [](const Suffix& a, const Suffix& b) { return a.key < b.key; });
    if (depth + kSymbolsPerKey >= max_length_) return;
    for (std::size_t begin = 0; begin < suffixes.size();) {
      std::size_t end = begin + 1;
      while (end < suffixes.size() && suffixes[end].key == suffixes[begin].key) ++end;
      const bool goes_on = (suffixes[begin].key & kLastSymbol) != 0;
      if (end - begin > 1 && goes_on) sort(suffixes.subspan(begin, end - begin), depth + kSymbolsPerKey);
      begin = end;
    }
  }

 private:
  static constexpr std::uint64_t kLastSymbol = (std::uint64_t{1} << kBitsPerSymbol) - 1;

  std::uint64_t key_of(std::size_t begin, std::size_t depth) const {
    std::uint64_t key = 0;
    bool inside = true;
    for (std::size_t i = 0; i < kSymbolsPerKey; ++i) {
      const UnigramSymbol symbol = inside && depth + i < max_length_ ? symbols_[begin + depth + i] : 0;
      inside = symbol != 0;
      key = key << kBitsPerSymbol | symbol;
    }
    return key;
  }

  std::span<const UnigramSymbol> symbols_;
  std::size_t max_length_;
};

/// Traverses the suffix tree below one first symbol.
class NodeFinder {
 public:
  NodeFinder(std::span<const UnigramSymbol> symbols, std::size_t max_length,
             const std::function<bool(std::span<const UnigramSymbol>)>& is_valid)
      : symbols_(symbols), max_length_(max_length), is_valid_(is_valid) {}

  void add(std::uint32_t begin, std::uint64_t count) {
    const std::size_t length = length_of(begin);
    const std::size_t common = open_.empty() ? 0 : common_prefix(last_, begin);
    close_to(common);
    if (!open_.empty() && open_.back().length == length)
      open_.back().count += count;
    else
      open_.push_back({begin, static_cast<std::uint32_t>(length), count});
    last_ = begin;
  }
  std::vector<Substring> finish() {
    close_to(0);
    return std::move(found_);
  }

 private:
  std::size_t length_of(std::size_t begin) const {
    std::size_t length = 0;
    while (length < max_length_ && symbols_[begin + length] != 0) ++length;
    return length;
  }
  std::size_t common_prefix(std::size_t a, std::size_t b) const {
    std::size_t length = 0;
    while (length < max_length_ && symbols_[a + length] != 0 && symbols_[a + length] == symbols_[b + length]) ++length;
    return length;
  }
  /// If no piece can extend to the end of an edge of the tree, which begins at `above`, keeps the longest valid piece
  /// on it.
  void keep_valid(Substring node, std::size_t above) {
    for (; node.length >= 2 && node.length > above; --node.length)
      if (is_valid_(symbols_.subspan(node.begin, node.length))) return found_.push_back(node);
  }
  void close_to(std::size_t length) {
    while (!open_.empty() && open_.back().length > length) {
      const Substring closed = open_.back();
      open_.pop_back();
      if (closed.count >= 2)
        keep_valid(closed, open_.empty() ? length : std::max<std::size_t>(length, open_.back().length));
      if (length == 0 && open_.empty()) return;
      if (open_.empty() || open_.back().length < length)
        open_.push_back({closed.begin, static_cast<std::uint32_t>(length), closed.count});
      else
        open_.back().count += closed.count;
    }
  }

  std::span<const UnigramSymbol> symbols_;
  std::size_t max_length_;
  const std::function<bool(std::span<const UnigramSymbol>)>& is_valid_;
  std::vector<Substring> open_;  // the path from the root to the last suffix
  std::uint32_t last_ = 0;
  std::vector<Substring> found_;
};

/// The positions of each first symbol: places[begins[s]] up to places[begins[s + 1]] for symbol s.
struct FirstSymbols {
  std::vector<std::size_t> begins;
  std::vector<std::uint32_t> places;
};

FirstSymbols sort_by_first_symbol(const UnigramWords& words) {
  const UnigramSymbol last = words.symbols.empty() ? 0 : *std::ranges::max_element(words.symbols);
  FirstSymbols first{.begins = std::vector<std::size_t>(last + 2), .places = {}};
  for (const UnigramSymbol symbol : words.symbols)
    if (symbol != 0) ++first.begins[symbol + 1];
  std::partial_sum(first.begins.begin(), first.begins.end(), first.begins.begin());
  first.places.resize(first.begins.back());
  std::vector<std::size_t> next(first.begins.begin(), first.begins.end() - 1);
  for (std::size_t i = 0; i < words.symbols.size(); ++i)
    if (words.symbols[i] != 0) first.places[next[words.symbols[i]]++] = static_cast<std::uint32_t>(i);
  return first;
}

std::size_t word_at(const UnigramWords& words, std::uint32_t place) {
  return static_cast<std::size_t>(std::ranges::upper_bound(words.begins, place) - words.begins.begin()) - 1;
}

}  // namespace

std::vector<Substring> frequent_substrings(const UnigramWords& words, std::size_t max_length,
                                           const std::function<bool(std::span<const UnigramSymbol>)>& is_valid,
                                           ThreadArena& arena, const std::stop_token& stop) {
  const FirstSymbols first = sort_by_first_symbol(words);
  const std::size_t symbols = first.begins.size() - 1;
  // The longest lists come first, so that no thread is left alone with one at the end.
  std::vector<std::size_t> order(symbols);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::size_t s) { return first.begins[s + 1] - first.begins[s]; });
  std::vector<std::vector<Substring>> found(symbols);
  arena.for_each(symbols, [&](std::size_t i) {
    check_not_stopped(stop);
    const std::size_t symbol = order[i];
    std::vector<SuffixSorter::Suffix> suffixes;
    suffixes.reserve(first.begins[symbol + 1] - first.begins[symbol]);
    for (std::size_t place = first.begins[symbol]; place < first.begins[symbol + 1]; ++place)
      suffixes.push_back({0, first.places[place]});
    SuffixSorter(words.symbols, max_length).sort(suffixes, 1);
    NodeFinder finder(words.symbols, max_length, is_valid);
    for (const SuffixSorter::Suffix& suffix : suffixes)
      finder.add(suffix.begin, words.counts[word_at(words, suffix.begin)]);
    found[symbol] = finder.finish();
  });
  std::vector<Substring> all;
  for (std::vector<Substring>& of_symbol : found) {
    all.insert(all.end(), of_symbol.begin(), of_symbol.end());
    of_symbol = {};
  }
  return all;
}

std::vector<LearnedPiece> seed_pieces(const UnigramWords& words, std::vector<Substring> substrings, std::size_t most,
                                      std::span<const std::uint64_t> symbol_counts) {
  const auto weight = [](const Substring& s) { return static_cast<double>(s.count) * s.length; };
  if (substrings.size() > most) {
    std::vector<double> weights;
    weights.reserve(substrings.size());
    for (const Substring& substring : substrings) weights.push_back(weight(substring));
    const auto last = weights.begin() + static_cast<std::ptrdiff_t>(most);
    std::ranges::nth_element(weights, last, std::greater<>());
    const double limit = *last;
    // Among equal weights, the first ones in the order of symbols are kept.
    auto room = most - static_cast<std::size_t>(
                           std::ranges::count_if(substrings, [&](const Substring& s) { return weight(s) > limit; }));
    std::erase_if(substrings, [&](const Substring& s) {
      if (weight(s) != limit) return weight(s) < limit;
      return room == 0 || room-- == 0;
    });
  }
  std::vector<LearnedPiece> pieces;
  double total = 0;
  const auto add = [&](std::vector<UnigramSymbol> symbols, double piece_weight) {
    total += piece_weight;
    pieces.push_back({std::move(symbols), std::log(piece_weight)});
  };
  for (std::size_t s = 1; s < symbol_counts.size(); ++s)
    add({static_cast<UnigramSymbol>(s)}, static_cast<double>(std::max<std::uint64_t>(symbol_counts[s], 1)));
  for (const Substring& s : substrings) {
    const auto symbols = std::span(words.symbols).subspan(s.begin, s.length);
    add({symbols.begin(), symbols.end()}, weight(s));
  }
  for (LearnedPiece& piece : pieces) piece.score -= std::log(total);
  return pieces;
}

}  // namespace dragoman::tokenizer

#include "reproducing/tokenizers_learner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {

TokenizersLearner::TokenizersLearner(SymbolWords words, SymbolNames& names) : names_(names), words_(std::move(words)) {
  count_pairs();
}

void TokenizersLearner::count_pairs() {
  for (std::uint32_t word = 0; word < words_.size(); ++word) {
    const auto symbols = words_.symbols(word);
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) gain(symbols[i], symbols[i + 1], word);
  }
  queue_gained_pairs();
}

std::vector<SymbolPair> TokenizersLearner::learn(const Options& options,
                                                 core::FunctionRef<void(std::size_t)> on_merge) {
  max_length_ = options.max_token_length;
  for (std::uint32_t word = 0; max_length_ > 0 && word < words_.size(); ++word)
    lengths_.emplace_back(words_.symbols(word).size(), 1);
  std::vector<SymbolPair> learned;
  while (names_.size() < options.vocab_size) {
    on_merge(names_.size());
    const auto best = pop_best();
    if (!best || best->count < std::max<std::uint64_t>(options.min_frequency, 1)) break;
    learned.push_back(numbers_.pair(best->pair));
    merge(*best);
  }
  return learned;
}

/// Largest count first, then the pair of the smallest ids.
bool TokenizersLearner::comes_later(const Entry& a, const Entry& b) const {
  if (a.count != b.count) return a.count < b.count;
  if (a.pair != b.pair) return numbers_.key(a.pair) > numbers_.key(b.pair);
  return a.places > b.places;
}

void TokenizersLearner::push(const Entry& entry) {
  queue_.push_back(entry);
  std::push_heap(queue_.begin(), queue_.end(), [&](const Entry& a, const Entry& b) { return comes_later(a, b); });
}

/// An outdated entry goes back with what its pair counts now; a pair that was merged already still has its count.
std::optional<TokenizersLearner::Entry> TokenizersLearner::pop_best() {
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), [&](const Entry& a, const Entry& b) { return comes_later(a, b); });
    Entry top = queue_.back();
    queue_.pop_back();
    // A count below 0 becomes a huge one there, too.
    const auto count = static_cast<std::uint64_t>(counts_[top.pair]);
    if (top.count == count) return top;
    top.count = count;
    push(top);
  }
  return std::nullopt;
}

void TokenizersLearner::queue_gained_pairs() {
  for (const std::uint32_t pair : gained_pairs_) {
    std::vector<std::uint32_t> places = std::exchange(gained_[pair], {});
    if (counts_[pair] <= 0) continue;
    places_.push_back(std::move(places));
    push({static_cast<std::uint64_t>(counts_[pair]), pair, static_cast<std::uint32_t>(places_.size() - 1)});
  }
  gained_pairs_.clear();
}

void TokenizersLearner::merge(const Entry& entry) {
  const SymbolPair pair = numbers_.pair(entry.pair);
  const std::int32_t joined = names_.joined(pair.left, pair.right);
  for (const std::uint32_t word : std::exchange(places_[entry.places], {})) merge_in_word(pair, joined, word);
  queue_gained_pairs();
}

/// From left to right; what is left of an occurrence is merged already, what is right of it is not.
void TokenizersLearner::merge_in_word(SymbolPair pair, std::int32_t joined, std::uint32_t word) {
  const auto symbols = words_.symbols(word);
  const std::int64_t count = words_.count(word);
  const auto length = [&](std::size_t i) { return max_length_ > 0 ? lengths_[word][i] : 0; };
  after_.clear();
  after_lengths_.clear();
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (i + 1 == symbols.size() || symbols[i] != pair.left || symbols[i + 1] != pair.right) {
      keep(symbols[i], length(i));
      continue;
    }
    const std::uint32_t joined_length = length(i) + length(i + 1);
    if (!after_.empty()) {
      change(after_.back(), pair.left, -count);
      if (may_merge(after_lengths_.back(), joined_length)) gain(after_.back(), joined, word);
    }
    if (i + 2 < symbols.size()) {
      change(pair.right, symbols[i + 2], -count);
      if (may_merge(joined_length, length(i + 2))) gain(joined, symbols[i + 2], word);
    }
    keep(joined, joined_length);
    ++i;
  }
  words_.replace(word, after_);
  if (max_length_ > 0) lengths_[word] = after_lengths_;
}

void TokenizersLearner::keep(std::int32_t symbol, std::uint32_t length) {
  after_.push_back(symbol);
  after_lengths_.push_back(length);
}

bool TokenizersLearner::may_merge(std::uint32_t left, std::uint32_t right) const {
  return max_length_ == 0 || left + right < max_length_;
}

std::uint32_t TokenizersLearner::change(std::int32_t left, std::int32_t right, std::int64_t count) {
  const std::uint32_t pair = numbers_.number({left, right});
  if (pair == counts_.size()) {
    counts_.push_back(0);
    gained_.emplace_back();
  }
  counts_[pair] += count;
  core::require(counts_[pair] <= std::numeric_limits<std::int32_t>::max(), core::ErrorCode::kUnsupported,
                "'{}' and '{}' are neighbours {} times; tokenizers counts in 32 bits and goes wrong from 2^31 on, so "
                "there is nothing to reproduce; learn from a sample",
                names_[left], names_[right], counts_[pair]);
  return pair;
}

void TokenizersLearner::gain(std::int32_t left, std::int32_t right, std::uint32_t word) {
  const std::uint32_t pair = change(left, right, words_.count(word));
  if (gained_[pair].empty()) gained_pairs_.push_back(pair);
  if (gained_[pair].empty() || gained_[pair].back() != word) gained_[pair].push_back(word);
}

}  // namespace dragoman::tokenizer

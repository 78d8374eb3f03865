#include "learning/codes_learner.h"

#include <algorithm>
#include <limits>
#include <string>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::tokenizer {
namespace {

/// The number of merges between regular prunings.
constexpr std::size_t kPruneInterval = 100;

/// Restoring doubles a count below 0 each time (see restore()). Python has no bound for it.
constexpr std::int64_t kLeastCount = std::numeric_limits<std::int64_t>::min() / 4;

/// Returns whether Python's `\s` matches the character.
bool is_python_space(char32_t c) {
  return core::is_white_space(c) || (c >= 0x1C && c <= 0x1F);
}

bool has_python_space(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const core::DecodedCharacter c = core::decode_utf8(text, i);
    if (is_python_space(c.code_point)) return true;
    i += c.length;
  }
  return false;
}

bool space_before(const std::string& text, std::size_t place) {
  if (place == 0) return true;
  std::size_t begin = place - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return is_python_space(core::decode_utf8(text, begin).code_point);
}

bool space_at(const std::string& text, std::size_t place) {
  return place == text.size() || is_python_space(core::decode_utf8(text, place).code_point);
}

}  // namespace

CodesLearner::CodesLearner(CodesWords words, SymbolNames& names)
    : names_(names), words_(std::move(words)), has_space_(words_.size(), false), balance_(words_.size(), 0) {
  core::require(words_.size() < std::numeric_limits<std::uint32_t>::max() / 2, core::ErrorCode::kBadInput,
                "the corpus has {} distinct words, more than can be numbered; learn from a sample of its lines",
                words_.size());
  std::vector<bool> is_space;
  for (std::size_t id = 0; id < names.size(); ++id)
    is_space.push_back(has_python_space(names[static_cast<std::int32_t>(id)]));
  for (std::uint32_t word = 0; word < words_.size(); ++word)
    has_space_[word] = std::ranges::any_of(words_.symbols(word),
                                           [&](std::int32_t id) { return is_space[static_cast<std::size_t>(id)]; });
  count_pairs();
}

void CodesLearner::count_pairs() {
  for (std::uint32_t word = 0; word < words_.size(); ++word) {
    const auto symbols = words_.symbols(word);
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) change(symbols[i], symbols[i + 1], word, true);
  }
  touched_.clear();
  for (Pair& pair : pairs_) {
    pair.is_touched = false;
    pair.pruned = pair.count;
  }
  rebuild_queue();
}

std::vector<SymbolPair> CodesLearner::learn(std::size_t merges, std::int64_t min_frequency,
                                            core::FunctionRef<void(std::size_t)> on_merge) {
  std::vector<SymbolPair> learned;
  double threshold = queue_.empty() ? 0 : static_cast<double>(queue_.front().count) / 10;
  for (std::size_t step = 0; step < merges; ++step) {
    on_merge(step);
    auto best = pop_best();
    const bool is_missing = !best || static_cast<double>(pairs_[*best].count) < threshold;
    if (step > 0 && is_missing) {
      restore(threshold, step);
      best = pop_best();
    }
    if (!best || pairs_[*best].count < min_frequency) break;
    learned.push_back(numbers_.pair(*best));
    merge(*best);
    if (step % kPruneInterval == 0) prune(threshold);
  }
  return learned;
}

/// Orders by count, then by the left string, then by the right string.
bool CodesLearner::comes_later(const Entry& a, const Entry& b) const {
  if (a.count != b.count) return a.count < b.count;
  const SymbolPair x = numbers_.pair(a.pair);
  const SymbolPair y = numbers_.pair(b.pair);
  const int left = x.left == y.left ? 0 : names_[x.left].compare(names_[y.left]);
  return left != 0 ? left < 0 : names_[x.right] < names_[y.right];
}

void CodesLearner::offer(std::uint32_t pair) {
  if (!pairs_[pair].is_listed || pairs_[pair].count < 1) return;
  queue_.push_back({pairs_[pair].count, pair});
  std::push_heap(queue_.begin(), queue_.end(), [&](const Entry& a, const Entry& b) { return comes_later(a, b); });
}

void CodesLearner::rebuild_queue() {
  queue_.clear();
  for (const std::uint32_t pair : listed_)
    if (pairs_[pair].count > 0) queue_.push_back({pairs_[pair].count, pair});
  std::make_heap(queue_.begin(), queue_.end(), [&](const Entry& a, const Entry& b) { return comes_later(a, b); });
}

/// Returns the best pair of the small table that has a count above 0. All changes of the table were offered, so an
/// entry whose count differs from the table is outdated.
std::optional<std::uint32_t> CodesLearner::pop_best() {
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), [&](const Entry& a, const Entry& b) { return comes_later(a, b); });
    const Entry top = queue_.back();
    queue_.pop_back();
    if (pairs_[top.pair].is_listed && pairs_[top.pair].count == top.count) return top.pair;
  }
  return std::nullopt;
}

/// Moves small counts out of the small table. The change of a pair since it was last moved replaces its count in the
/// full table. Only a change below 0 is added.
void CodesLearner::prune(double threshold) {
  std::vector<std::uint32_t> kept;
  for (const std::uint32_t number : listed_) {
    Pair& pair = pairs_[number];
    if (static_cast<double>(pair.count) >= threshold) {
      kept.push_back(number);
      continue;
    }
    pair.pruned = pair.count < 0 ? std::max(pair.pruned + pair.count, kLeastCount) : pair.count;
    pair.count = 0;
    pair.is_listed = false;
  }
  listed_ = std::move(kept);
}

/// Makes the small table a copy of the full one, and prunes it by a new threshold. Counts below 0 are thereby added to
/// themselves.
void CodesLearner::restore(double& threshold, std::size_t step) {
  prune(threshold);
  std::int64_t most = 0;
  listed_.resize(pairs_.size());
  for (std::uint32_t number = 0; number < pairs_.size(); ++number) {
    listed_[number] = number;
    pairs_[number].is_listed = true;
    pairs_[number].count = pairs_[number].pruned;
    most = std::max(most, pairs_[number].count);
  }
  const auto steps = static_cast<double>(step);
  threshold = static_cast<double>(most) * steps / (steps + 10000.0);
  prune(threshold);
  rebuild_queue();
}

void CodesLearner::merge(std::uint32_t number) {
  const SymbolPair pair = numbers_.pair(number);
  const std::int32_t joined = names_.joined(pair.left, pair.right);
  for (const std::uint32_t word : take_words_with(number)) merge_in_word(pair, joined, word);
  pairs_[number].count = 0;
  for (const std::uint32_t touched : touched_) {
    pairs_[touched].is_touched = false;
    offer(touched);
  }
  touched_.clear();
}

/// Returns the words in which the pair was gained more often than lost, and clears the list.
std::vector<std::uint32_t> CodesLearner::take_words_with(std::uint32_t number) {
  const std::vector<std::uint32_t> places = std::exchange(pairs_[number].places, {});
  for (const std::uint32_t place : places) balance_[place / 2] += place % 2 == 0 ? 1 : -1;
  std::vector<std::uint32_t> words;
  for (const std::uint32_t place : places) {
    if (balance_[place / 2] > 0) words.push_back(place / 2);
    balance_[place / 2] = 0;
  }
  return words;
}

void CodesLearner::merge_in_word(SymbolPair pair, std::int32_t joined, std::uint32_t word) {
  const auto symbols = words_.symbols(word);
  before_.assign(symbols.begin(), symbols.end());
  after_.clear();
  if (has_space_[word])
    join_by_text(pair);
  else
    join_by_symbols(pair, joined);
  words_.replace(word, after_);
  lose_neighbours(pair, word);
  gain_neighbours(joined, word);
}

void CodesLearner::join_by_symbols(SymbolPair pair, std::int32_t joined) {
  for (std::size_t i = 0; i < before_.size(); ++i) {
    const bool matches = i + 1 < before_.size() && before_[i] == pair.left && before_[i + 1] == pair.right;
    after_.push_back(matches ? joined : before_[i]);
    i += matches ? 1 : 0;
  }
}

/// subword-nmt replaces `(?<!\S)left right(?!\S)` in the symbols, joined by spaces. Whitespace of the word itself, such
/// as a no-break space, then looks like the border of a symbol.
void CodesLearner::join_by_text(SymbolPair pair) {
  std::string text;
  for (const std::int32_t id : before_) text.append(text.empty() ? "" : " ").append(names_[id]);
  const std::string wanted = names_[pair.left] + " " + names_[pair.right];
  for (std::size_t place = 0; (place = text.find(wanted, place)) != std::string::npos;) {
    if (!space_before(text, place) || !space_at(text, place + wanted.size())) {
      ++place;
      continue;
    }
    text.erase(place + names_[pair.left].size(), 1);
    place += wanted.size() - 1;
  }
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    after_.push_back(names_.id(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
}

/// Each occurrence loses the pairs with its neighbours. The pair between two consecutive occurrences is counted once.
void CodesLearner::lose_neighbours(SymbolPair pair, std::uint32_t word) {
  const std::size_t size = before_.size();
  const auto is_pair = [&](std::size_t i) {
    return i + 1 < size && before_[i] == pair.left && before_[i + 1] == pair.right;
  };
  for (std::size_t i = 0; i + 1 < size; ++i) {
    if (!is_pair(i)) continue;
    if (i > 0) change(before_[i - 1], before_[i], word, false);
    if (i + 2 < size && !is_pair(i + 2)) change(before_[i + 1], before_[i + 2], word, false);
    ++i;
  }
}

/// Every such symbol counts as new, even if it was in the word before.
void CodesLearner::gain_neighbours(std::int32_t joined, std::uint32_t word) {
  for (std::size_t i = 0; i < after_.size(); ++i) {
    if (after_[i] != joined) continue;
    if (i > 0) change(after_[i - 1], joined, word, true);
    if (i + 1 < after_.size() && after_[i + 1] != joined) change(joined, after_[i + 1], word, true);
  }
}

/// A pair that is not in the small table is added with the count 0.
void CodesLearner::change(std::int32_t left, std::int32_t right, std::uint32_t word, bool is_gain) {
  const std::uint32_t number = numbers_.number({left, right});
  if (number == pairs_.size()) pairs_.emplace_back();
  Pair& pair = pairs_[number];
  if (!pair.is_listed) {
    pair.is_listed = true;
    listed_.push_back(number);
  }
  if (!pair.is_touched) {
    pair.is_touched = true;
    touched_.push_back(number);
  }
  pair.count += is_gain ? words_.count(word) : -words_.count(word);
  pair.places.push_back(word * 2 + (is_gain ? 0 : 1));
}

}  // namespace dragoman::tokenizer

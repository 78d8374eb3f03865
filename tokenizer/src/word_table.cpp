#include "word_table.h"

#include <algorithm>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

constexpr std::size_t kUnit = sizeof(std::uint64_t);
constexpr std::size_t kBlockUnits = (std::size_t{1} << 17) / kUnit;

}  // namespace

/// The word's entry, or the free one that it would take.
WordTable::Entry& WordTable::find(std::string_view word, const WordKey& key) noexcept {
  std::size_t i = key.hash & mask();
  while (entries_[i].high != 0 && !holds(entries_[i], word, key)) i = (i + 1) & mask();
  return entries_[i];
}

void WordTable::add(std::string_view word, const WordKey& key, std::uint64_t count) {
  Entry& entry = find(word, key);
  entry.count += count;
  if (entry.high != 0) return;
  const bool is_long = key.high >= WordKey::kLong;
  entry.low = is_long ? reinterpret_cast<std::uintptr_t>(store(word, key.hash)) : key.low;
  entry.high = key.high;
  if (++used_ * 3 > entries_.size() * 2) grow();
}

void WordTable::remove(std::string_view word, const WordKey& key) noexcept {
  find(word, key).count = 0;
}

void WordTable::grow() {
  core::PageVector<Entry> old(entries_.size() * 2);
  old.swap(entries_);
  for (const Entry& entry : old) {
    if (entry.high == 0) continue;
    std::size_t i = hash_of(entry) & mask();
    while (entries_[i].high != 0) i = (i + 1) & mask();
    entries_[i] = entry;
  }
}

const WordTable::LongWord* WordTable::store(std::string_view word, std::uint64_t hash) {
  const std::size_t units = (sizeof(LongWord) + word.size() + kUnit - 1) / kUnit;
  if (units > free_units_) {
    free_units_ = std::max(kBlockUnits, units);
    blocks_.push_back(std::make_unique_for_overwrite<std::uint64_t[]>(free_units_));
    free_ = blocks_.back().get();
  }
  auto* place = ::new (free_) LongWord{hash, word.size()};
  std::memcpy(static_cast<void*>(place + 1), word.data(), word.size());
  free_ += units;
  free_units_ -= units;
  return place;
}

/// A counting sort, since nearly all counts are small; the few large ones are sorted by themselves.
std::vector<WordCount> WordCounts::by_count() const {
  constexpr std::uint64_t kSmall = 1 << 12;
  std::vector<std::size_t> places(kSmall + 1, 0);
  const auto class_of = [](std::uint64_t count) { return count < kSmall ? kSmall - count : 0; };
  for_each([&](std::string_view, std::uint64_t count) { ++places[class_of(count)]; });
  const auto large = static_cast<std::ptrdiff_t>(places[0]);
  std::size_t begin = 0;
  for (std::size_t& place : places) begin += std::exchange(place, begin);
  std::vector<WordCount> words(begin);
  for_each([&](std::string_view word, std::uint64_t count) { words[places[class_of(count)]++] = {word, count}; });
  std::sort(words.begin(), words.begin() + large,
            [](const WordCount& a, const WordCount& b) { return a.count > b.count; });
  return words;
}

}  // namespace dragoman::tokenizer

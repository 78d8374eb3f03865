#include "reading/word_table.h"

#include <algorithm>
#include <utility>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

constexpr std::size_t kUnit = sizeof(std::uint64_t);
/// Blocks for long words double up to the largest size, so that a few long words take little memory.
constexpr std::size_t kFirstBlockUnits = (std::size_t{1} << 12) / kUnit;
constexpr std::size_t kDoublings = 5;

}  // namespace

/// Returns the word's entry, or the free entry for it.
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
  if (++used_ * 3 > entries_.size() * 2 && may_grow()) grow();
}

void WordTable::remove(std::string_view word, const WordKey& key) noexcept {
  find(word, key).count = 0;
}

/// Returns whether the table may grow. Old and new entries exist at the same time, so there must be room for both.
bool WordTable::may_grow() noexcept {
  if (memory_ == nullptr || memory_->used + entry_bytes() * 2 <= memory_->limit) return true;
  memory_->full = true;
  return used_ * 8 > entries_.size() * 7;
}

void WordTable::grow() {
  if (memory_ != nullptr) memory_->used += entry_bytes();
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
    free_units_ = std::max(kFirstBlockUnits << std::min(blocks_.size(), kDoublings), units);
    blocks_.push_back(std::make_unique_for_overwrite<std::uint64_t[]>(free_units_));
    free_ = blocks_.back().get();
    if (memory_ != nullptr) {
      memory_->used += free_units_ * kUnit;
      memory_->full = memory_->full || memory_->used > memory_->limit;
    }
  }
  auto* place = ::new (free_) LongWord{hash, word.size()};
  std::memcpy(static_cast<void*>(place + 1), word.data(), word.size());
  free_ += units;
  free_units_ -= units;
  return place;
}

WordTotal WordTable::drop_below(std::uint64_t min_count) noexcept {
  WordTotal dropped;
  for (Entry& entry : entries_) {
    if (entry.count == 0 || entry.count >= min_count) continue;
    dropped.add(std::exchange(entry.count, 0));
  }
  return dropped;
}

/// Orders by bytes. A short word, read as two big-endian integers with its length at the end, sorts like its bytes.
bool WordTable::is_before(const Entry& a, const Entry& b) noexcept {
  if (a.high >= WordKey::kLong || b.high >= WordKey::kLong) return word_of(a) < word_of(b);
  if (a.low != b.low) return __builtin_bswap64(a.low) < __builtin_bswap64(b.low);
  return __builtin_bswap64(a.high) < __builtin_bswap64(b.high);
}

void WordTable::sort() {
  const auto end =
      std::remove_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.count == 0; });
  std::sort(entries_.begin(), end, is_before);
  used_ = static_cast<std::size_t>(end - entries_.begin());
}

void WordTable::clear() noexcept {
  std::fill(entries_.begin(), entries_.end(), Entry());
  used_ = 0;
  blocks_.clear();
  free_units_ = 0;
}

WordCounts::WordCounts(std::size_t limit) : memory_(std::make_unique<TableMemory>()) {
  memory_->limit = limit;
  for (std::size_t t = 0; t < kTables; ++t) {
    tables_.emplace_back(memory_.get());
    memory_->used += tables_.back().entry_bytes();
  }
}

WordTotal WordCounts::drop_below(std::uint64_t min_count) noexcept {
  WordTotal all;
  for (WordTable& table : tables_) {
    const WordTotal dropped = table.drop_below(min_count);
    all.words += dropped.words;
    all.occurrences += dropped.occurrences;
  }
  return all;
}

WordTotal WordCounts::total() const noexcept {
  WordTotal total;
  for_each([&](std::string_view, std::uint64_t count) { total.add(count); });
  return total;
}

void WordCounts::clear() noexcept {
  for (WordTable& table : tables_) table.clear();
  if (memory_ == nullptr) return;
  memory_->full = false;
  memory_->used = 0;
  for (const WordTable& table : tables_) memory_->used += table.entry_bytes();
}

void WordCounts::lift_limit() noexcept {
  for (WordTable& table : tables_) table.lift_limit();
  memory_.reset();
}

/// A counting sort by small counts, which nearly all are. All larger counts form the first class, which is sorted by
/// comparison.
std::vector<WordCount> WordCounts::by_count(ThreadArena& arena) const {
  constexpr std::uint64_t kSmall = 1 << 12;
  const auto class_of = [](std::uint64_t count) { return count < kSmall ? kSmall - count : 0; };
  std::vector<std::vector<std::size_t>> places(kTables, std::vector<std::size_t>(kSmall + 1, 0));
  arena.for_each(kTables, [&](std::size_t t) {
    tables_[t].for_each([&](std::string_view, std::uint64_t count) { ++places[t][class_of(count)]; });
  });
  std::size_t begin = 0;
  std::ptrdiff_t large = 0;
  for (std::size_t c = 0; c <= kSmall; ++c) {
    for (auto& of_table : places) begin += std::exchange(of_table[c], begin);
    if (c == 0) large = static_cast<std::ptrdiff_t>(begin);
  }
  std::vector<WordCount> words(begin);
  arena.for_each(kTables, [&](std::size_t t) {
    tables_[t].for_each([&](std::string_view word, std::uint64_t count) {
      words[places[t][class_of(count)]++] = {word, count};
    });
  });
  std::sort(words.begin(), words.begin() + large,
            [](const WordCount& a, const WordCount& b) { return a.count > b.count; });
  return words;
}

}  // namespace dragoman::tokenizer

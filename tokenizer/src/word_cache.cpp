#include "word_cache.h"

#include <algorithm>

namespace dragoman::tokenizer {

void WordCache::insert(std::string_view word, const WordKey& key, std::span<const std::int32_t> ids) {
  if (word.size() > kLongestWord) return;
  make_room();
  Entry entry{.low = key.low, .high = key.high, .count = static_cast<std::uint32_t>(ids.size())};
  if (key.high >= WordKey::kLong) {
    entry.low = (std::uint64_t{word.size()} << 32) | bytes_.size();
    bytes_.insert(bytes_.end(), word.begin(), word.end());
  }
  if (ids.size() <= kInlineIds) {
    std::copy(ids.begin(), ids.end(), entry.ids);
  } else {
    entry.ids[0] = static_cast<std::int32_t>(ids_.size());
    ids_.insert(ids_.end(), ids.begin(), ids.end());
  }
  std::size_t i = key.hash & mask();
  while (entries_[i].high != 0) i = (i + 1) & mask();
  entries_[i] = entry;
  ++used_;
}

void WordCache::make_room() {
  if (bytes_.size() < kMaxOverflow && ids_.size() < kMaxOverflow && (used_ + 1) * 3 <= entries_.size() * 2) return;
  if (entries_.size() == kMaxEntries || bytes_.size() >= kMaxOverflow || ids_.size() >= kMaxOverflow) {
    std::fill(entries_.begin(), entries_.end(), Entry{});
    bytes_.clear();
    ids_.clear();
    used_ = 0;
    return;
  }
  core::PageVector<Entry> old(entries_.size() * 4);
  old.swap(entries_);
  for (const Entry& entry : old) {
    if (entry.high == 0) continue;
    const bool is_long = entry.high >= WordKey::kLong;
    const std::uint64_t hash = is_long ? hash_bytes({bytes_.data() + (entry.low & 0xFFFFFFFF), entry.low >> 32})
                                       : WordKey::short_hash(entry.low, entry.high);
    std::size_t i = hash & mask();
    while (entries_[i].high != 0) i = (i + 1) & mask();
    entries_[i] = entry;
  }
}

}  // namespace dragoman::tokenizer

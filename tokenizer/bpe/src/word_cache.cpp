#include "bpe/word_cache.h"

namespace dragoman::tokenizer {
namespace {

template <class Recent>
void keep(Recent& words, std::uint64_t hash, const typename Recent::Key& key, PackedIds ids) {
  if (ids.size() > Recent::kMaxIds) return;
  typename Recent::Entry entry;
  entry.key = key;
  std::memcpy(entry.ids, ids.data(), PackedIds::bytes(ids.size()));
  words.insert(hash, entry);
}

}  // namespace

template <std::size_t kUnits>
void RecentWords<kUnits>::insert(std::uint64_t hash, const Entry& entry) {
  if (in_sample(hash) && forgotten(hash) == static_cast<std::uint32_t>(hash)) ++returned_;
  put(hash, entry);
  if (++inserted_ < 2 * capacity()) return;
  // One in four: the next size must save this number of merges to compensate for its cache misses.
  const bool many_returned = returned_ * kSample * 4 > inserted_;
  if (sets_.size() < kUsualSets || (many_returned && sets_.size() < kMaxSets)) grow();
  inserted_ = 0;
  returned_ = 0;
}

template <std::size_t kUnits>
void RecentWords<kUnits>::put(std::uint64_t hash, const Entry& entry) {
  Set& set = sets_[hash & mask()];
  if (set.entries[0].key == entry.key) return;
  if (const std::uint64_t last = hash_of(set.entries[1].key); in_sample(last))
    forgotten(last) = static_cast<std::uint32_t>(last);
  set.entries[1] = set.entries[0];
  set.entries[0] = entry;
}

template <std::size_t kUnits>
void RecentWords<kUnits>::grow() {
  core::PageVector<Set> old(sets_.size() * 4, Set{});
  old.swap(sets_);
  forgotten_.assign(sets_.size(), 0);
  for (const Set& set : old)
    for (const Entry& entry : {set.entries[1], set.entries[0]})
      if (entry.key != Key{}) put(hash_of(entry.key), entry);
}

void WordCache::insert(std::string_view word, const WordKey& key, PackedIds ids) {
  if (word.size() <= WordKey::kInlineBytes) {
    keep(short_, key.hash, {{key.low, key.high}}, ids);
  } else if (word.size() <= kLongest) {
    const Long::Key long_key = key_of_long(word);
    keep(long_, hash_of(long_key), long_key, ids);
  }
}

template class RecentWords<2>;
template class RecentWords<4>;

}  // namespace dragoman::tokenizer

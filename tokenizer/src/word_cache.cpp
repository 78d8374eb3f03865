#include "word_cache.h"

namespace dragoman::tokenizer {
namespace {

template <class Recent>
void keep(Recent& words, std::uint64_t hash, const typename Recent::Key& key, PackedIds ids) {
  if (ids.size() > Recent::kMostIds) return;
  typename Recent::Entry entry;
  entry.key = key;
  std::memcpy(entry.ids, ids.data(), PackedIds::bytes(ids.size()));
  words.insert(hash, entry);
}

}  // namespace

template <std::size_t kUnits>
void RecentWords<kUnits>::grow() {
  core::PageVector<Set> old(sets_.size() * 4, Set{});
  old.swap(sets_);
  inserted_ = 0;
  for (const Set& set : old)
    for (const Entry& entry : {set.entries[1], set.entries[0]})
      if (entry.key != Key{}) insert(hash_of(entry.key), entry);
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

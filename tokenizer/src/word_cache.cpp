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

std::uint64_t hash_of(const RecentWords<2>::Key& key) {
  return WordKey::short_hash(key.units[0], key.units[1]);
}

std::uint64_t hash_of(const RecentWords<4>::Key& key) {
  const auto* bytes = reinterpret_cast<const char*>(key.units);
  return hash_bytes({bytes, static_cast<unsigned char>(bytes[sizeof key - 1])});
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
  if (word.size() <= WordKey::kInlineBytes)
    keep(short_, key.hash, {{key.low, key.high}}, ids);
  else if (word.size() <= kLongest)
    keep(long_, key.hash, long_key(word), ids);
}

WordCache::Long::Key WordCache::long_key(std::string_view word) noexcept {
  Long::Key key{};
  std::memcpy(key.units, word.data(), word.size());
  reinterpret_cast<std::uint8_t*>(key.units)[sizeof key - 1] = static_cast<std::uint8_t>(word.size());
  return key;
}

template class RecentWords<2>;
template class RecentWords<4>;

}  // namespace dragoman::tokenizer

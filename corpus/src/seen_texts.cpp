#include "corpus/seen_texts.h"

#include <cstring>

#include <dragoman/core/hash.h>

namespace dragoman::corpus {
namespace {

constexpr std::size_t kFirstSlots = 64;

/// Mixes a text into both halves of the key. The halves process the bytes differently, so texts that collide in one do
/// not collide in the other. The length comes first, so that the boundary between two texts counts.
void add(TextKey& key, std::string_view text) noexcept {
  key.first = core::hash_integers(key.first ^ text.size(), key.second);
  for (std::size_t i = 0; i < text.size(); i += 16) {
    std::uint64_t lanes[2] = {0, 0};
    std::memcpy(lanes, text.data() + i, text.size() - i < 16 ? text.size() - i : 16);
    key.first = core::hash_integers(lanes[0] ^ key.first, lanes[1]);
    key.second = core::hash_integers(lanes[1] ^ key.second, ~lanes[0]);
  }
}

/// Ensures that the key is not zero, which marks an empty slot.
TextKey finished(TextKey key) noexcept {
  key.second |= 1;
  return key;
}

}  // namespace

TextKey key_of(std::string_view text) noexcept {
  TextKey key{.first = 1, .second = 2};
  add(key, text);
  return finished(key);
}

TextKey key_of(std::string_view source, std::string_view target) noexcept {
  TextKey key{.first = 3, .second = 4};
  add(key, source);
  add(key, target);
  return finished(key);
}

bool SeenTexts::insert(const TextKey& key) {
  return tables_[key.first % kTables].insert(key);
}

std::size_t SeenTexts::size() const noexcept {
  std::size_t all = 0;
  for (const Table& table : tables_) all += table.used;
  return all;
}

std::size_t SeenTexts::bytes() const noexcept {
  std::size_t all = 0;
  for (const Table& table : tables_) all += table.slots.size() * sizeof(TextKey);
  return all;
}

bool SeenTexts::contains(const TextKey& key) const {
  const Table& table = tables_[key.first % kTables];
  if (table.slots.empty()) return false;
  const std::size_t mask = table.slots.size() - 1;
  for (std::size_t i = (key.first / kTables) & mask; table.slots[i] != TextKey{}; i = (i + 1) & mask)
    if (table.slots[i] == key) return true;
  return false;
}

bool SeenTexts::Table::insert(const TextKey& key) {
  if (4 * (used + 1) > 3 * slots.size()) grow();
  const std::size_t mask = slots.size() - 1;
  std::size_t i = (key.first / kTables) & mask;
  for (; slots[i] != TextKey{}; i = (i + 1) & mask)
    if (slots[i] == key) return false;
  slots[i] = key;
  ++used;
  return true;
}

void SeenTexts::Table::grow() {
  std::vector<TextKey> before(slots.empty() ? kFirstSlots : 2 * slots.size());
  before.swap(slots);
  const std::size_t mask = slots.size() - 1;
  for (const TextKey& key : before) {
    if (key == TextKey{}) continue;
    std::size_t i = (key.first / kTables) & mask;
    while (slots[i] != TextKey{}) i = (i + 1) & mask;
    slots[i] = key;
  }
}

}  // namespace dragoman::corpus

#pragma once

#include <cstdint>

#include <dragoman/core/hash.h>
#include <dragoman/core/huge_pages.h>
#include <dragoman/core/prefetch.h>

namespace dragoman::tokenizer {

/// Packs a pair of symbols into one integer. Keys sort by left, then right.
inline std::uint64_t pair_key(std::int32_t left, std::int32_t right) noexcept {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
}
inline std::int32_t pair_left(std::uint64_t key) noexcept {
  return static_cast<std::int32_t>(key >> 32);
}
inline std::int32_t pair_right(std::uint64_t key) noexcept {
  return static_cast<std::int32_t>(key & 0xFFFFFFFF);
}

/// A map from pairs to values, with open addressing. Entries are never removed.
template <class Value>
class PairMap {
 public:
  PairMap() : slots_(std::size_t{1} << 12) {}

  /// Returns the pair's value, and inserts a default value if it has none. The reference is valid until the next call.
  Value& at(std::uint64_t key) {
    std::uint64_t i = probe(key);
    if (slots_[i].key != key) {
      if ((size_ + 1) * 2 > slots_.size()) {
        grow();
        i = probe(key);
      }
      slots_[i].key = key;
      ++size_;
    }
    return slots_[i].value;
  }
  /// Returns the pair's value, or nullptr. The pointer is valid until the next at().
  Value* find(std::uint64_t key) noexcept {
    Slot& slot = slots_[probe(key)];
    return slot.key == key ? &slot.value : nullptr;
  }
  /// Prefetches the first slot that at() will read.
  void prefetch(std::uint64_t key) const noexcept { core::prefetch(&slots_[home(key)]); }
  std::size_t size() const noexcept { return size_; }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_)
      if (slot.key != kFree) visit(slot.key, slot.value);
  }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (Slot& slot : slots_)
      if (slot.key != kFree) visit(slot.key, slot.value);
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};  // the key of two symbols -1, which do not occur
  struct Slot {
    std::uint64_t key = kFree;
    Value value{};
  };

  std::uint64_t home(std::uint64_t key) const noexcept { return core::hash_integer(key) & (slots_.size() - 1); }
  std::uint64_t probe(std::uint64_t key) const noexcept {
    std::uint64_t i = home(key);
    while (slots_[i].key != kFree && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    return i;
  }
  void grow() {
    core::PageVector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.key != kFree) slots_[probe(slot.key)] = slot;
  }

  core::PageVector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace dragoman::tokenizer

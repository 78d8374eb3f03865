#pragma once

#include "hash.h"

#include <cstdint>
#include <vector>

namespace dragoman::tokenizer {

/// A pair of symbols as one number that sorts by left, then right.
inline std::uint64_t pair_key(std::int32_t left, std::int32_t right) noexcept {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
}
inline std::int32_t pair_left(std::uint64_t key) noexcept {
  return static_cast<std::int32_t>(key >> 32);
}
inline std::int32_t pair_right(std::uint64_t key) noexcept {
  return static_cast<std::int32_t>(key & 0xFFFFFFFF);
}

/// Numbers pairs in the order of their first appearance; open addressing, nothing is ever removed.
class PairMap {
 public:
  PairMap() : slots_(std::size_t{1} << 12), mask_(slots_.size() - 1) {}

  /// The number of the pair, a new one if it has none; `size()` grows by one then.
  std::uint32_t number(std::uint64_t key) {
    std::uint64_t i = probe(key);
    if (slots_[i].number == kEmpty) {
      if ((size_ + 1) * 2 > slots_.size()) {
        grow();
        i = probe(key);
      }
      slots_[i] = {key, size_++};
    }
    return slots_[i].number;
  }
  std::uint32_t size() const noexcept { return size_; }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_)
      if (slot.number != kEmpty) visit(slot.key, slot.number);
  }

 private:
  static constexpr std::uint32_t kEmpty = 0xFFFFFFFF;
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t number = kEmpty;
  };

  std::uint64_t probe(std::uint64_t key) const noexcept {
    std::uint64_t i = hash_integer(key) & mask_;
    while (slots_[i].number != kEmpty && slots_[i].key != key) i = (i + 1) & mask_;
    return i;
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old)
      if (slot.number != kEmpty) slots_[probe(slot.key)] = slot;
  }

  std::vector<Slot> slots_;
  std::uint64_t mask_;
  std::uint32_t size_ = 0;
};

}  // namespace dragoman::tokenizer

#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/hash.h>

namespace dragoman::tokenizer {

/// A map from the texts of pieces to ids, with open addressing. The texts are stored elsewhere, as strings or views.
template <class Text = std::string>
class PieceTable {
 public:
  /// `pieces` must be unchanged while the table is used. The table starts empty.
  explicit PieceTable(const std::vector<Text>& pieces)
      : pieces_(&pieces), slots_(std::bit_ceil(pieces.size() * 2 + 2)), mask_(slots_.size() - 1) {}

  /// Adds a piece. Returns false if another piece has its text.
  bool add(std::int32_t id) {
    const std::string_view text = (*pieces_)[static_cast<std::size_t>(id)];
    const std::uint64_t hash = core::hash_bytes(text);
    Slot& slot = slots_[probe(text, hash)];
    if (slot.id >= 0) return false;
    slot = {static_cast<std::uint32_t>(hash >> 32), id};
    return true;
  }

  /// Returns the id, or -1.
  std::int32_t find(std::string_view text) const noexcept { return slots_[probe(text, core::hash_bytes(text))].id; }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t id = -1;
  };

  std::uint64_t probe(std::string_view text, std::uint64_t hash) const noexcept {
    std::uint64_t i = hash & mask_;
    for (; slots_[i].id >= 0; i = (i + 1) & mask_)
      if (slots_[i].hash == hash >> 32 && (*pieces_)[static_cast<std::size_t>(slots_[i].id)] == text) break;
    return i;
  }

  const std::vector<Text>* pieces_;
  std::vector<Slot> slots_;
  std::uint64_t mask_;
};

}  // namespace dragoman::tokenizer

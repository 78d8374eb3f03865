#pragma once

#include "learning/symbol_words.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dragoman::tokenizer {

/// Finds the pieces that are prefixes of symbols: a double array (Aoe 1989) with one look-up per symbol.
class SymbolTrie {
 public:
  /// The values are the indices of the pieces, which must be distinct and not empty.
  explicit SymbolTrie(std::span<const LearnedPiece> pieces);

  /// Calls visit(piece, length) for every piece that is a prefix of `symbols`, the shortest first.
  template <class Visit>
  void for_each_prefix(std::span<const UnigramSymbol> symbols, Visit&& visit) const {
    std::uint32_t children = units_[0].children;
    std::uint32_t node = 0;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const std::uint32_t next = children + symbols[i];
      const Unit& unit = units_[next];
      if (unit.parent != node) return;
      if (unit.piece >= 0) visit(unit.piece, i + 1);
      node = next;
      children = unit.children;
    }
  }

 private:
  struct Unit {
    std::uint32_t children = 0;  ///< the child for symbol s is at children + s
    std::uint32_t parent = kFree;
    std::int32_t piece = -1;
  };
  struct Range;
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;

  std::uint32_t find_room(std::span<const UnigramSymbol> labels);
  void reserve(std::size_t size);

  std::vector<Unit> units_;
  std::size_t first_free_ = 1;
  UnigramSymbol largest_ = 0;
};

}  // namespace dragoman::tokenizer

#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace dragoman::tokenizer {

/// A map from code points to numbers, in pages of 256 that are allocated only if used.
class CharacterTable {
 public:
  CharacterTable() : cells_(kPage, -1) {}

  void set(char32_t code_point, std::int32_t value) {
    std::uint16_t& page = pages_[code_point / kPage];
    if (page == 0) {
      page = static_cast<std::uint16_t>(cells_.size() / kPage);
      cells_.resize(cells_.size() + kPage, -1);
    }
    cells_[page * kPage + code_point % kPage] = value;
  }
  /// Returns the number, or -1. Accepts any code point up to U+10FFFF.
  std::int32_t find(char32_t code_point) const noexcept {
    return cells_[pages_[code_point / kPage] * kPage + code_point % kPage];
  }

 private:
  static constexpr std::size_t kPage = 256;
  // Page 0 of the cells is empty and represents all missing pages.
  std::array<std::uint16_t, 0x110000 / kPage> pages_{};
  std::vector<std::int32_t> cells_;
};

}  // namespace dragoman::tokenizer

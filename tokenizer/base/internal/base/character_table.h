#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace dragoman::tokenizer {

/// A number for some code points, in pages of 256 that exist only where one of them lies.
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
  /// The number, or -1. Any code point up to U+10FFFF.
  std::int32_t find(char32_t code_point) const noexcept {
    return cells_[pages_[code_point / kPage] * kPage + code_point % kPage];
  }

 private:
  static constexpr std::size_t kPage = 256;
  std::array<std::uint16_t, 0x110000 / kPage>
      pages_{};  // page 0 of the cells is empty and stands for all that are missing
  std::vector<std::int32_t> cells_;
};

}  // namespace dragoman::tokenizer

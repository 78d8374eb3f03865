#include "pre_tokenizing/gpt2_word_reader.h"

#include "pre_tokenizing/named_patterns.h"

#include <algorithm>
#include <cstring>

#include <hwy/highway.h>

namespace dragoman::tokenizer {
namespace {

constexpr std::size_t index(WordClass kind) {
  return static_cast<std::size_t>(kind);
}

/// Returns a mask of `size` <= 64 bits.
constexpr std::uint64_t low_bits(std::size_t size) {
  return size >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1;
}

}  // namespace

Gpt2WordReader::Gpt2WordReader(std::string_view text, std::size_t readable) noexcept
    : text_(text), readable_(readable), classes_(&WordClasses::get()) {
  if (text.empty()) return;
  read_block(0);
  starts_ &= ~Mask{1};
}

void Gpt2WordReader::read_block(std::size_t begin) noexcept {
  block_ = begin;
  const std::size_t size = text_.size() - begin;
  Masks masks;
  if (readable_ - begin >= kBlock) {
    masks = masks_of_ascii(text_.data() + begin);
  } else {
    char bytes[kBlock] = {};
    std::memcpy(bytes, text_.data() + begin, std::min(size, kBlock));
    masks = masks_of_ascii(bytes);
  }
  const Mask inside = low_bits(size);
  masks.multibyte &= inside;
  Mask starts = masks.multibyte != 0 ? classify_multibyte(masks) : 0;
  const Mask letters = masks.of[index(WordClass::kLetter)];
  const Mask numbers = masks.of[index(WordClass::kNumber)];
  const Mask spaces = masks.of[index(WordClass::kSpace)];
  const Mask others = ~(letters | numbers | spaces);
  const auto follow = [&](WordClass kind, Mask mask) {
    const Mask after = mask << 1 | before_[index(kind)];
    before_[index(kind)] = mask >> (kBlock - 1);
    return after;
  };
  const Mask after_blank = masks.blanks << 1 | blank_before_;
  blank_before_ = masks.blanks >> (kBlock - 1);
  const Mask continues = (letters & follow(WordClass::kLetter, letters)) |
                         (numbers & follow(WordClass::kNumber, numbers)) | (others & follow(WordClass::kOther, others));
  starts |= ~(spaces | continues | after_blank);
  starts |= spaces & ~follow(WordClass::kSpace, spaces);
  // The last whitespace of a run; that of several bytes has been handled.
  Mask space_next = spaces >> 1;
  if (spaces >> (kBlock - 1) != 0 && space_follows(begin + kBlock)) space_next |= Mask{1} << (kBlock - 1);
  starts |= spaces & ~masks.multibyte & ~space_next & low_bits(size - 1);
  starts_ = ((starts & ~joined_) | parted_) & inside;
  joined_ = parted_ = 0;
  if (const Mask apostrophes = masks.apostrophes & starts_; apostrophes != 0) apply_contractions(apostrophes);
}

HWY_ATTR Gpt2WordReader::Masks Gpt2WordReader::masks_of_ascii(const char* block) noexcept {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr std::size_t kVector = 16;
  constexpr hn::FixedTag<std::uint8_t, kVector> kBytes{};
  const auto bits = [&](auto mask) HWY_ATTR {
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(kBytes, mask, bytes);
    Mask all;
    std::memcpy(&all, bytes, sizeof all);
    return all;
  };
  const auto is_in = [&](auto bytes, char first, char last) HWY_ATTR {
    const auto offset = hn::Sub(bytes, hn::Set(kBytes, static_cast<std::uint8_t>(first)));
    return hn::Eq(offset, hn::Min(offset, hn::Set(kBytes, static_cast<std::uint8_t>(last - first))));
  };
  Masks masks;
  for (std::size_t at = 0; at < kBlock; at += kVector) {
    const auto bytes = hn::LoadU(kBytes, reinterpret_cast<const std::uint8_t*>(block + at));
    const auto blank = hn::Eq(bytes, hn::Set(kBytes, ' '));
    const auto lower = hn::Or(bytes, hn::Set(kBytes, 'a' - 'A'));
    masks.of[index(WordClass::kLetter)] |= bits(is_in(lower, 'a', 'z')) << at;
    masks.of[index(WordClass::kNumber)] |= bits(is_in(bytes, '0', '9')) << at;
    masks.of[index(WordClass::kSpace)] |= bits(hn::Or(blank, is_in(bytes, '\t', '\r'))) << at;
    masks.blanks |= bits(blank) << at;
    masks.apostrophes |= bits(hn::Eq(bytes, hn::Set(kBytes, '\''))) << at;
    masks.multibyte |= bits(is_in(bytes, '\x80', '\xFF')) << at;
  }
  return masks;
}

/// Adds the bytes of all other characters to the masks. Returns the starts of their whitespace that is the last of a
/// run.
Gpt2WordReader::Mask Gpt2WordReader::classify_multibyte(Masks& masks) noexcept {
  Mask starts = 0;
  Mask rest = masks.multibyte;
  const auto add = [&](WordClass kind, Mask bytes) {
    masks.of[index(kind)] |= bytes;
    rest &= ~bytes;
  };
  add(multibyte_class_, low_bits(multibyte_rest_));
  multibyte_rest_ = 0;
  while (rest != 0) {
    const auto at = static_cast<std::size_t>(std::countr_zero(rest));
    const ClassifiedCharacter c = classes_->at(text_, block_ + at);
    add(c.kind, low_bits(c.length) << at);
    const std::size_t end = at + c.length;
    if (c.kind == WordClass::kSpace && block_ + end < text_.size() && !space_follows(block_ + end))
      starts |= Mask{1} << at;
    if (end > kBlock) {
      multibyte_rest_ = end - kBlock;
      multibyte_class_ = c.kind;
    }
  }
  masks.of[index(WordClass::kOther)] = 0;
  return starts;
}

void Gpt2WordReader::apply_contractions(Mask apostrophes) noexcept {
  __extension__ using Wide = unsigned __int128;
  for (; apostrophes != 0; apostrophes &= apostrophes - 1) {
    const auto at = static_cast<std::size_t>(std::countr_zero(apostrophes));
    const std::size_t length = gpt2_contraction_length(text_, block_ + at);
    if (length == 0) continue;
    const Wide joined = static_cast<Wide>(low_bits(length - 1)) << (at + 1);
    const Wide parted = static_cast<Wide>(block_ + at + length < text_.size() ? 1 : 0) << (at + length);
    starts_ = (starts_ & ~static_cast<Mask>(joined)) | static_cast<Mask>(parted);
    joined_ |= static_cast<Mask>(joined >> kBlock);
    parted_ |= static_cast<Mask>(parted >> kBlock);
  }
}

}  // namespace dragoman::tokenizer

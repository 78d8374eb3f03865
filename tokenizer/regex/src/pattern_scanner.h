#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {

/// Scans the text of a regular expression. Any fault is an Error{kBadInput} that shows the pattern and the offset in
/// it.
class PatternScanner {
 public:
  explicit PatternScanner(std::string_view pattern) : pattern_(pattern) {
    core::require(pattern.size() <= kMaxBytes, core::ErrorCode::kBadInput,
                  "a pattern of {} bytes, with others that it is joined with, is too long; at most {} are supported: "
                  "leave out alternatives",
                  pattern.size(), kMaxBytes);
    const std::size_t invalid = core::find_invalid_utf8(pattern);
    core::require(invalid == std::string_view::npos, core::ErrorCode::kBadInput,
                  "a pattern is not valid UTF-8 at offset {}", invalid);
  }

  bool at_end() const { return offset_ >= pattern_.size(); }
  std::size_t offset() const { return offset_; }
  std::string_view rest() const { return pattern_.substr(offset_); }
  /// Returns the byte at this distance, or NUL after the end.
  char peek(std::size_t distance = 0) const {
    return offset_ + distance < pattern_.size() ? pattern_[offset_ + distance] : '\0';
  }
  std::string_view since(std::size_t offset) const { return pattern_.substr(offset, offset_ - offset); }
  void skip(std::size_t bytes) { offset_ += bytes; }
  void go_back_to(std::size_t offset) { offset_ = offset; }
  bool take(char c) {
    if (at_end() || peek() != c) return false;
    ++offset_;
    return true;
  }
  char32_t take_character() {
    const core::DecodedCharacter c = core::decode_utf8(pattern_, offset_);
    offset_ += c.length;
    return c.code_point;
  }
  std::optional<std::size_t> take_number() {
    std::size_t number = 0;
    const std::string_view text = rest();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc::result_out_of_range) fail("the number is too large");
    if (error != std::errc()) return std::nullopt;
    offset_ += static_cast<std::size_t>(end - text.data());
    return number;
  }

  [[noreturn]] void fail(std::string_view reason) const { fail_at(offset_, reason); }
  [[noreturn]] void fail_before(std::string_view reason) const { fail_at(offset_ - 1, reason); }
  [[noreturn]] void fail_at(std::size_t offset, std::string_view reason) const {
    core::fail(core::ErrorCode::kBadInput, "the pattern {} at offset {}: {}", core::Quoted{pattern_}, offset, reason);
  }

 private:
  /// A class of two bytes in the pattern takes ten kilobytes and some time, so a limit on steps is not enough: `\w{0}`
  /// has none.
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 16;

  std::string_view pattern_;
  std::size_t offset_ = 0;
};

}  // namespace dragoman::tokenizer

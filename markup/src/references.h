#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dragoman::markup {

/// Decodes character references such as `&amp;` and `&#228;` as the HTML standard does: the semicolon may be missing
/// after numbers, and after the names for which the standard allows it.
class ReferenceDecoder {
 public:
  /// `source[at]` is `&`. Returns the number of bytes of the reference, or 0 if there is none.
  std::size_t decode(std::string_view source, std::size_t at);
  /// Returns the characters of the last reference.
  std::string_view text() const { return text_; }

 private:
  std::size_t decode_number(std::string_view source, std::size_t at);
  std::size_t decode_name(std::string_view source, std::size_t at);

  std::string text_;
};

/// Appends a text with references for `&`, `<`, `>` and `quote`, if that is not 0. The result is valid in XML, too.
void append_encoded(std::string& out, std::string_view text, char quote = 0);

}  // namespace dragoman::markup

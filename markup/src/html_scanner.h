#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <dragoman/core/text_range.h>

namespace dragoman::markup {

enum class TokenKind : std::uint8_t {
  kText,
  kRaw,  ///< the content of an element such as `script`, in which tags have no meaning
  kStart,
  kEnd,
  kComment,      ///< also a processing instruction, CDATA, or a tag without end
  kDeclaration,  ///< `<!DOCTYPE ...>`
};

/// A stretch of a document.
struct Token {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t name_end = 0;  ///< of a tag; the name begins after `<` or `</`
  TokenKind kind = TokenKind::kText;
  bool closes_itself = false;  ///< `<x/>`
};

/// Cuts a document into tokens as the tokenization stage of the HTML standard does, without its error handling: the
/// tokens are adjacent and cover the source. The content of `textarea` and `title` may have tags, as in XML.
std::vector<Token> scan(std::string_view source);

/// Returns the name of a tag as the source spells it.
std::string_view name_of(std::string_view source, const Token& tag);

struct Attribute {
  core::TextRange name{};
  core::TextRange value{};  ///< without quotes
  char quote = 0;           ///< 0: not quoted
};

/// Reads the attributes of a tag in order.
class AttributeReader {
 public:
  /// `begin` is the position after the tag's name.
  AttributeReader(std::string_view source, std::size_t begin) : source_(source), at_(begin) {}

  /// Returns nullopt at the end of the tag.
  std::optional<Attribute> next();

  /// After the last attribute: the position after the tag, or npos if the source ends before.
  std::size_t end() const { return end_; }
  bool closes_itself() const { return closes_itself_; }

 private:
  void read_value(Attribute& attribute);

  std::string_view source_;
  std::size_t at_;
  std::size_t end_ = std::string_view::npos;
  bool closes_itself_ = false;
};

constexpr bool is_html_space(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

}  // namespace dragoman::markup

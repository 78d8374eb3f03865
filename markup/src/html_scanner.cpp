#include "html_scanner.h"

#include "html_names.h"

#include <algorithm>

#include <dragoman/core/ascii.h>

namespace dragoman::markup {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

constexpr bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool starts_with_name(std::string_view text, std::string_view name) {
  return text.size() >= name.size() && core::equal_ignoring_ascii_case(text.substr(0, name.size()), name);
}

class Scanner {
 public:
  explicit Scanner(std::string_view source) : source_(source) {}

  std::vector<Token> scan() {
    while (at_ < source_.size()) {
      const std::size_t tag = source_.find('<', at_);
      if (tag == kNone) break;
      at_ = tag;
      read_markup();
    }
    add_text(source_.size());
    return std::move(tokens_);
  }

 private:
  char char_at(std::size_t at) const { return at < source_.size() ? source_[at] : '\0'; }

  void add_text(std::size_t end) {
    if (end > text_begin_) add(TokenKind::kText, text_begin_, end);
  }
  void add(TokenKind kind, std::size_t begin, std::size_t end) {
    tokens_.push_back({.begin = static_cast<std::uint32_t>(begin),
                       .end = static_cast<std::uint32_t>(end),
                       .name_end = static_cast<std::uint32_t>(begin),
                       .kind = kind});
    at_ = text_begin_ = end;
  }
  /// Adds the text before, and a token to `end`, or to the end of the source if that is npos.
  void add_markup(TokenKind kind, std::size_t end) {
    const std::size_t begin = at_;
    add_text(begin);
    add(kind, begin, std::min(end, source_.size()));
  }
  /// Returns the position after `closing`, or npos.
  std::size_t position_after(std::string_view closing, std::size_t from) const {
    const std::size_t found = source_.find(closing, from);
    return found == kNone ? kNone : found + closing.size();
  }

  void read_markup() {
    const char next = char_at(at_ + 1);
    if (is_letter(next)) return read_tag(TokenKind::kStart, at_ + 1);
    if (next == '/') {
      const char letter = char_at(at_ + 2);
      if (is_letter(letter)) return read_tag(TokenKind::kEnd, at_ + 2);
      if (letter != '\0') return add_markup(TokenKind::kComment, position_after(">", at_ + 2));
    }
    if (next == '?') return add_markup(TokenKind::kComment, position_after(">", at_));
    if (next == '!') return read_declaration();
    ++at_;  // a `<` of the text
  }

  void read_declaration() {
    const std::string_view rest = source_.substr(at_);
    if (rest.starts_with("<!-->")) return add_markup(TokenKind::kComment, at_ + 5);
    if (rest.starts_with("<!--->")) return add_markup(TokenKind::kComment, at_ + 6);
    if (rest.starts_with("<!--")) return read_comment();
    if (rest.starts_with("<![CDATA[") && !cdata_is_open_) {
      const std::size_t end = position_after("]]>", at_);
      cdata_is_open_ = end == kNone;  // no later one has an end either
      if (!cdata_is_open_) return add_markup(TokenKind::kComment, end);
    }
    const bool doctype = starts_with_name(rest.substr(2), "doctype");
    add_markup(doctype ? TokenKind::kDeclaration : TokenKind::kComment, position_after(">", at_));
  }

  /// A comment ends at `-->` or `--!>`.
  void read_comment() {
    std::size_t end = at_ + 4;
    for (;;) {
      end = source_.find("--", end);
      if (end == kNone) break;
      if (char_at(end + 2) == '>') return add_markup(TokenKind::kComment, end + 3);
      if (char_at(end + 2) == '!' && char_at(end + 3) == '>') return add_markup(TokenKind::kComment, end + 4);
      ++end;
    }
    add_markup(TokenKind::kComment, kNone);
  }

  void read_tag(TokenKind kind, std::size_t name) {
    std::size_t name_end = name;
    while (name_end < source_.size() && !is_html_space(source_[name_end]) && source_[name_end] != '/' &&
           source_[name_end] != '>')
      ++name_end;
    AttributeReader attributes(source_, name_end);
    while (attributes.next()) {
    }
    if (attributes.end() == kNone) return add_markup(TokenKind::kComment, kNone);
    add_markup(kind, attributes.end());
    Token& tag = tokens_.back();
    tag.name_end = static_cast<std::uint32_t>(name_end);
    tag.closes_itself = kind == TokenKind::kStart && attributes.closes_itself();
    if (kind == TokenKind::kStart && !tag.closes_itself) read_raw_content(source_.substr(name, name_end - name));
  }

  /// Adds the content of an element in which tags have no meaning.
  void read_raw_content(std::string_view spelled_name) {
    if (!has_raw_content(spelled_name)) return;
    std::size_t end = at_;
    for (;; ++end) {
      end = source_.find("</", end);
      if (end == kNone) break;
      const std::string_view rest = source_.substr(end + 2);
      if (rest.size() <= spelled_name.size()) continue;
      const char after = rest[spelled_name.size()];
      if (!is_html_space(after) && after != '/' && after != '>') continue;
      if (core::equal_ignoring_ascii_case(rest.substr(0, spelled_name.size()), spelled_name)) break;
    }
    end = std::min(end, source_.size());
    if (end > at_) add(TokenKind::kRaw, at_, end);
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::size_t text_begin_ = 0;
  bool cdata_is_open_ = false;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> scan(std::string_view source) {
  return Scanner(source).scan();
}

std::string_view name_of(std::string_view source, const Token& tag) {
  const std::size_t begin = tag.begin + (tag.kind == TokenKind::kEnd ? 2 : 1);
  return source.substr(begin, tag.name_end - begin);
}

std::optional<Attribute> AttributeReader::next() {
  if (end_ != kNone) return std::nullopt;
  bool slash = false;
  while (at_ < source_.size() && (is_html_space(source_[at_]) || source_[at_] == '/')) slash = source_[at_++] == '/';
  if (at_ >= source_.size()) return std::nullopt;
  if (source_[at_] == '>') {
    closes_itself_ = slash;
    end_ = at_ + 1;
    return std::nullopt;
  }
  Attribute attribute{.name = {at_, at_}};
  ++at_;  // an equals sign at the beginning belongs to the name
  while (at_ < source_.size() && !is_html_space(source_[at_]) && source_[at_] != '/' && source_[at_] != '>' &&
         source_[at_] != '=')
    ++at_;
  attribute.name.end = at_;
  attribute.value = {at_, at_};
  std::size_t value = at_;
  while (value < source_.size() && is_html_space(source_[value])) ++value;
  if (value < source_.size() && source_[value] == '=') {
    at_ = value + 1;
    read_value(attribute);
  }
  return attribute;
}

void AttributeReader::read_value(Attribute& attribute) {
  while (at_ < source_.size() && is_html_space(source_[at_])) ++at_;
  attribute.value = {at_, at_};
  if (at_ >= source_.size()) return;
  if (source_[at_] == '"' || source_[at_] == '\'') {
    attribute.quote = source_[at_];
    const std::size_t closing = std::min(source_.find(attribute.quote, at_ + 1), source_.size());
    attribute.value = {at_ + 1, closing};
    at_ = std::min(closing + 1, source_.size());
    return;
  }
  while (at_ < source_.size() && !is_html_space(source_[at_]) && source_[at_] != '>') ++at_;
  attribute.value.end = at_;
}

}  // namespace dragoman::markup

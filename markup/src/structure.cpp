#include "structure.h"

#include "html_names.h"
#include "references.h"

#include <algorithm>
#include <string>

#include <dragoman/core/ascii.h>
#include <dragoman/core/hash_tables.h>

namespace dragoman::markup {
namespace {

bool is_blank_html(std::string_view text) {
  return std::ranges::all_of(text, is_html_space);
}

bool has_class(std::string_view classes, std::string_view wanted) {
  for (std::size_t at = 0; at < classes.size();) {
    while (at < classes.size() && is_html_space(classes[at])) ++at;
    std::size_t end = at;
    while (end < classes.size() && !is_html_space(classes[end])) ++end;
    if (classes.substr(at, end - at) == wanted) return true;
    at = end;
  }
  return false;
}

/// Returns whether the attributes of a start tag forbid the translation of its content.
bool forbids_translation(std::string_view source, const Token& tag) {
  AttributeReader attributes(source, tag.name_end);
  while (const auto attribute = attributes.next()) {
    const auto text = [&](const core::TextRange& range) { return source.substr(range.begin, range.end - range.begin); };
    if (core::equal_ignoring_ascii_case(text(attribute->name), "translate") &&
        core::equal_ignoring_ascii_case(text(attribute->value), "no"))
      return true;
    // Many pages mark such elements by this class, which Google's and Microsoft's translators know.
    if (core::equal_ignoring_ascii_case(text(attribute->name), "class") &&
        has_class(text(attribute->value), "notranslate"))
      return true;
  }
  return false;
}

/// The scope of each start tag.
struct Scope {
  std::uint32_t end = 0;  ///< the token after its content
  bool closed = false;    ///< whether that token is its end tag
};

/// Matches start and end tags. Time is linear, since each tag enters and leaves the stack once.
class Matcher {
 public:
  Matcher(std::string_view source, const std::vector<Token>& tokens)
      : source_(source), tokens_(tokens), scopes_(tokens.size()), names_(tokens.size()) {}

  std::vector<Scope> match() {
    for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind == TokenKind::kStart) open(i);
      if (tokens_[i].kind == TokenKind::kEnd) close(i);
    }
    while (!stack_.empty()) pop(static_cast<std::uint32_t>(tokens_.size()), false);
    return std::move(scopes_);
  }

 private:
  std::string_view name(std::uint32_t token) const { return name_of(source_, tokens_[token]); }
  std::uint32_t number_of_name(std::uint32_t token) {
    const auto [found, added] =
        numbers_.emplace(core::ascii_lower(name(token)), static_cast<std::uint32_t>(open_.size()));
    if (added) open_.push_back(0);
    return found->second;
  }
  void open(std::uint32_t token) {
    scopes_[token] = {token + 1, false};
    const Role role = role_of(name(token));
    if (tokens_[token].closes_itself || role == Role::kVoid || role == Role::kVoidBlock) return;
    while (!stack_.empty() && implies_end_of(name(token), name(stack_.back()))) pop(token, false);
    names_[token] = number_of_name(token);
    ++open_[names_[token]];
    stack_.push_back(token);
  }
  void close(std::uint32_t token) {
    const std::uint32_t number = number_of_name(token);
    if (open_[number] == 0) return;
    while (names_[stack_.back()] != number) pop(token, false);
    pop(token, true);
  }
  void pop(std::uint32_t end, bool closed) {
    const std::uint32_t token = stack_.back();
    stack_.pop_back();
    --open_[names_[token]];
    scopes_[token] = {end, closed};
  }

  std::string_view source_;
  const std::vector<Token>& tokens_;
  std::vector<Scope> scopes_;
  std::vector<std::uint32_t> names_;  ///< number of the name of each open tag
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> open_;  ///< open elements of each name
  core::TextMap<std::uint32_t> numbers_;
};

class StructureFinder {
 public:
  StructureFinder(std::string_view source, const std::vector<Token>& tokens)
      : source_(source), tokens_(tokens), scopes_(Matcher(source, tokens).match()) {}

  std::vector<Item> find() {
    std::vector<std::uint32_t> closes(tokens_.size(), kNoItem);  // the item of the start tag, for each end tag
    for (std::uint32_t i = 0; i < tokens_.size();) {
      const Token& token = tokens_[i];
      const bool is_start = token.kind == TokenKind::kStart;
      if (is_start && is_untouched(i)) {
        i = add_untouched(i);
        continue;
      }
      if (is_start && scopes_[i].closed && scopes_[i].end < closes.size())
        closes[scopes_[i].end] = static_cast<std::uint32_t>(items_.size());
      add(i, closes[i]);
      ++i;
    }
    find_double_breaks();
    find_deep_elements();
    find_elements_around_boundaries();
    return std::move(items_);
  }

 private:
  Role role(std::uint32_t token) const { return role_of(name_of(source_, tokens_[token])); }

  bool is_untouched(std::uint32_t token) const {
    const Token& tag = tokens_[token];
    const Role own = role(token);
    if (tag.closes_itself || own == Role::kVoid || own == Role::kVoidBlock) return false;
    return own >= Role::kUntouched || forbids_translation(source_, tag);
  }

  /// Adds the whole element as one item. Returns the token after it.
  std::uint32_t add_untouched(std::uint32_t start) {
    const Scope& scope = scopes_[start];
    const std::uint32_t end = scope.closed ? scope.end + 1 : scope.end;
    const Role own = role(start);
    bool block = own == Role::kUntouchedBlock || own == Role::kBlock;
    for (std::uint32_t i = start + 1; own != Role::kHidden && !block && i < end; ++i) {
      if (tokens_[i].kind != TokenKind::kStart && tokens_[i].kind != TokenKind::kEnd) continue;
      const Role inner = role(i);
      block = inner == Role::kBlock || inner == Role::kVoidBlock || inner == Role::kUntouchedBlock;
    }
    items_.push_back({.begin = tokens_[start].begin,
                      .end = tokens_[end - 1].end,
                      .kind = block ? ItemKind::kBoundary : ItemKind::kOpaque,
                      .hidden = own == Role::kHidden});
    return end;
  }

  void add(std::uint32_t i, std::uint32_t opening) {
    const Token& token = tokens_[i];
    Item item{.begin = token.begin, .end = token.end};
    switch (token.kind) {
      case TokenKind::kText:
        return add_text(token);
      case TokenKind::kRaw:
        item.kind = ItemKind::kBoundary;
        break;
      case TokenKind::kComment:
        item.kind = ItemKind::kPoint;
        break;
      case TokenKind::kDeclaration:
        item.kind = ItemKind::kBoundary;
        break;
      case TokenKind::kStart:
        item.name_end = token.name_end;
        item.kind = is_block(i) ? ItemKind::kBoundary : scopes_[i].closed ? ItemKind::kOpen : ItemKind::kPoint;
        item.is_line_break = core::equal_ignoring_ascii_case(name_of(source_, token), "br");
        break;
      case TokenKind::kEnd:
        item.kind = is_block(i) ? ItemKind::kBoundary : opening != kNoItem ? ItemKind::kClose : ItemKind::kPoint;
        break;
    }
    if (item.kind == ItemKind::kClose) {
      item.partner = opening;
      items_[opening].partner = static_cast<std::uint32_t>(items_.size());
    }
    items_.push_back(item);
  }

  bool is_block(std::uint32_t token) const {
    const Role own = role(token);
    return own == Role::kBlock || own == Role::kVoidBlock || own == Role::kUntouchedBlock;
  }

  /// Adds text. A reference that HTML does not define becomes an item: a document type may define it.
  void add_text(const Token& token) {
    std::uint32_t begin = token.begin;
    const std::string_view text = source_.substr(0, token.end);
    for (std::size_t at = text.find('&', begin); at != std::string_view::npos; at = text.find('&', at + 1)) {
      std::size_t end = at + 1;
      while (end < text.size() && end - at < 64 &&
             (text[end] == '_' || text[end] == '-' || text[end] == '.' || (text[end] >= '0' && text[end] <= '9') ||
              (core::ascii_lower(text[end]) >= 'a' && core::ascii_lower(text[end]) <= 'z')))
        ++end;
      if (end == at + 1 || end >= text.size() || text[end] != ';' || decoder_.decode(text, at) > 0) continue;
      if (at > begin) items_.push_back({.begin = begin, .end = static_cast<std::uint32_t>(at)});
      begin = static_cast<std::uint32_t>(end + 1);
      items_.push_back({.begin = static_cast<std::uint32_t>(at), .end = begin, .kind = ItemKind::kOpaque});
    }
    if (begin < token.end) items_.push_back({.begin = begin, .end = token.end});
  }

  /// Two line breaks in a row end a paragraph.
  void find_double_breaks() {
    std::size_t last = items_.size();
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (item.kind == ItemKind::kPoint && item.is_line_break) {
        if (last < i) items_[last].kind = items_[i].kind = ItemKind::kBoundary;
        last = i;
      } else if (item.kind != ItemKind::kText || !is_blank_html(source_.substr(item.begin, item.end - item.begin))) {
        last = items_.size();
      }
      if (item.kind == ItemKind::kBoundary && item.is_line_break) last = i;
    }
  }

  void find_deep_elements() {
    std::size_t depth = 0;
    for (Item& item : items_) {
      if (item.kind == ItemKind::kOpen && ++depth > kMaxInlineDepth) {
        item.kind = ItemKind::kBoundary;
        items_[item.partner].kind = ItemKind::kBoundary;
        --depth;
      } else if (item.kind == ItemKind::kClose) {
        --depth;
      }
    }
  }

  void find_elements_around_boundaries() {
    std::vector<std::uint32_t> boundaries_before(items_.size() + 1);
    for (std::size_t i = 0; i < items_.size(); ++i)
      boundaries_before[i + 1] = boundaries_before[i] + (items_[i].kind == ItemKind::kBoundary ? 1 : 0);
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].kind != ItemKind::kOpen) continue;
      const std::uint32_t partner = items_[i].partner;
      if (boundaries_before[partner] == boundaries_before[i]) continue;
      items_[i].kind = items_[partner].kind = ItemKind::kBoundary;
    }
  }

  std::string_view source_;
  const std::vector<Token>& tokens_;
  std::vector<Scope> scopes_;
  std::vector<Item> items_;
  ReferenceDecoder decoder_;
};

}  // namespace

std::vector<Item> find_structure(std::string_view source, const std::vector<Token>& tokens) {
  return StructureFinder(source, tokens).find();
}

}  // namespace dragoman::markup

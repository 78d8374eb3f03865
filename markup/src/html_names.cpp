#include "html_names.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include <dragoman/core/ascii.h>
#include <dragoman/core/hash_tables.h>

namespace dragoman::markup {
namespace {

constexpr std::size_t kLongestName = 16;

struct Names {
  Role role;
  std::initializer_list<std::string_view> names;
};

const std::initializer_list<Names> kRoles = {
    {Role::kVoid, {"area", "br", "embed", "img", "input", "param", "source", "track", "wbr"}},
    {Role::kVoidBlock, {"base", "col", "frame", "hr", "link", "meta"}},
    {Role::kBlock,
     {"address",    "article", "aside",   "audio",  "blockquote", "body",     "button", "caption", "center",
      "colgroup",   "dd",      "details", "dialog", "dir",        "div",      "dl",     "dt",      "fieldset",
      "figcaption", "figure",  "footer",  "form",   "frameset",   "h1",       "h2",     "h3",      "h4",
      "h5",         "h6",      "head",    "header", "hgroup",     "html",     "label",  "legend",  "li",
      "main",       "menu",    "nav",     "ol",     "optgroup",   "option",   "p",      "search",  "section",
      "select",     "summary", "table",   "tbody",  "td",         "textarea", "tfoot",  "th",      "thead",
      "title",      "tr",      "ul",      "video"}},
    {Role::kUntouched,
     {"canvas", "code", "iframe", "kbd", "math", "noembed", "noframes", "object", "samp", "svg", "var"}},
    {Role::kHidden, {"script", "style", "template"}},
    {Role::kUntouchedBlock, {"listing", "plaintext", "pre", "xmp"}}};

const core::TextViewMap<Role>& roles() {
  static const auto all = [] {
    core::TextViewMap<Role> map;
    for (const Names& group : kRoles)
      for (const std::string_view name : group.names) map.emplace(name, group.role);
    return map;
  }();
  return all;
}

bool is_any_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names,
                             [&](std::string_view other) { return core::equal_ignoring_ascii_case(name, other); });
}

}  // namespace

Role role_of(std::string_view name) {
  if (name.size() > kLongestName) return Role::kInline;
  std::array<char, kLongestName> lowered{};
  std::ranges::transform(name, lowered.begin(), [](char c) { return core::ascii_lower(c); });
  const auto found = roles().find(std::string_view(lowered.data(), name.size()));
  return found == roles().end() ? Role::kInline : found->second;
}

bool has_raw_content(std::string_view name) {
  return is_any_of(name, {"script", "style", "xmp", "iframe", "noembed", "noframes", "plaintext"});
}

bool implies_end_of(std::string_view name, std::string_view open) {
  const auto both = [&](std::initializer_list<std::string_view> names) {
    return is_any_of(name, names) && is_any_of(open, names);
  };
  return both({"p"}) || both({"li"}) || both({"dt", "dd"}) || both({"td", "th"}) || both({"option"}) || both({"tr"}) ||
         (is_any_of(name, {"tr"}) && is_any_of(open, {"td", "th"}));
}

bool is_translated_attribute(std::string_view name) {
  return is_any_of(name, {"alt", "title", "placeholder", "aria-label"});
}

}  // namespace dragoman::markup

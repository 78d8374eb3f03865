#include "regex/marked_pattern.h"

#include "regex/pattern_parser.h"

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/tokenizer/word_mark.h>

namespace dragoman::tokenizer {
namespace {

const std::string kMark = kWordMark;

/// Converts \s to [\s_], where _ is the mark.
std::string class_with_mark(std::string_view escape) {
  return fmt::format("[{}{}]", escape, kMark);
}

/// Converts \S to [^\s_], and \P{L} to [^\p{L}_].
std::string class_without_mark(std::string_view escape) {
  std::string text(escape);
  text[1] = static_cast<char>(text[1] - 'A' + 'a');
  return fmt::format("[^{}{}]", text, kMark);
}

/// Rewrites patterns for text with marks.
class MarkedPattern {
 public:
  explicit MarkedPattern(std::string_view pattern) : pattern_(pattern), parsed_(parse_pattern(pattern)) {}

  std::string write() const {
    std::string out;
    std::size_t begin = 0;
    for (const PatternAtom& atom : parsed_.atoms) {
      out += pattern_.substr(begin, atom.begin - begin);
      out += rewrite(atom);
      begin = atom.end;
    }
    return out.append(pattern_.substr(begin));
  }

 private:
  std::string rewrite(const PatternAtom& atom) const {
    const std::string_view text = pattern_.substr(atom.begin, atom.end - atom.begin);
    const icu::UnicodeSet& characters = parsed_.program.classes[atom.characters];
    const bool has_space = characters.contains(U' ') != 0;
    const bool has_mark = characters.contains(static_cast<UChar32>(kWordMarkCharacter)) != 0;
    core::require(atom.kind != PatternAtom::Kind::kLiteral || !has_mark, core::ErrorCode::kBadInput,
                  "the pattern {} at offset {}: U+2581 stands for a space in the text; write a space",
                  core::Quoted{pattern_}, atom.begin);
    if (has_space == has_mark) return std::string(text);
    if (atom.kind == PatternAtom::Kind::kLiteral) return kMark;
    return has_space ? with_the_mark(atom, text) : without_the_mark(atom, text);
  }

  std::string with_the_mark(const PatternAtom& atom, std::string_view text) const {
    if (atom.kind == PatternAtom::Kind::kEscape) return class_with_mark(text);
    return atom.negated ? grouped(atom, fmt::format("(?:{}|{})", kMark, text)) : with_item(atom);
  }

  std::string without_the_mark(const PatternAtom& atom, std::string_view text) const {
    if (!atom.negated) return grouped(atom, fmt::format("(?:(?!{}){})", kMark, text));
    return atom.kind == PatternAtom::Kind::kEscape ? class_without_mark(text) : with_item(atom);
  }

  /// Returns [...] with the mark as an additional item.
  std::string with_item(const PatternAtom& atom) const {
    return fmt::format("{}{}{}", pattern_.substr(atom.begin, atom.room - atom.begin), kMark,
                       pattern_.substr(atom.room, atom.end - atom.room));
  }

  std::string grouped(const PatternAtom& atom, std::string group) const {
    core::require(!atom.in_look_around, core::ErrorCode::kUnsupported,
                  "the pattern {} at offset {}: look-around for a class that holds only one of space and U+2581, which "
                  "stands for it, is not supported; name the characters",
                  core::Quoted{pattern_}, atom.begin);
    return group;
  }

  std::string_view pattern_;
  ParsedPattern parsed_;
};

}  // namespace

std::string join_patterns(const std::vector<std::string>& patterns, bool marked) {
  std::string joined;
  for (const std::string& pattern : patterns) {
    parse_pattern(pattern);  // parsed separately: one could end a group that another begins
    const std::string written = marked ? MarkedPattern(pattern).write() : pattern;
    if (!joined.empty()) joined += '|';
    joined += patterns.size() > 1 ? "(?:" + written + ")" : written;
  }
  if (!joined.empty()) parse_pattern(joined);
  return joined;
}

}  // namespace dragoman::tokenizer

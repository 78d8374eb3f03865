#include "marked_pattern.h"

#include "../word_splitting.h"
#include "pattern_parser.h"

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

const std::string kMark = kWordMark;

/// [...] with one more item: in front of a hyphen that ends it, which would make a range otherwise.
std::string with_mark(std::string_view bracket) {
  const std::size_t end = bracket.size() - (bracket.ends_with("-]") && !bracket.ends_with("\\-]") ? 2 : 1);
  return std::string(bracket.substr(0, end)) + kMark + std::string(bracket.substr(end));
}

/// \S as [^\s], \P{L} as [^\p{L}].
std::string as_negated_bracket(std::string_view escape) {
  std::string text(escape);
  text[1] = static_cast<char>(text[1] - 'A' + 'a');
  return "[^" + text + "]";
}

/// Writes patterns anew for text with marks.
class MarkedPattern {
 public:
  explicit MarkedPattern(std::string_view pattern)
      : pattern_(pattern), parsed_(parse_pattern(pattern, PatternDialect::kOniguruma)) {}

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
                  "the pattern '{}' at offset {}: U+2581 stands for a space in the text; write a space", pattern_,
                  atom.begin);
    if (has_space == has_mark) return std::string(text);
    if (atom.kind == PatternAtom::Kind::kLiteral) return kMark;
    return has_space ? with_the_mark(atom, text) : without_the_mark(atom, text);
  }

  std::string with_the_mark(const PatternAtom& atom, std::string_view text) const {
    if (atom.kind == PatternAtom::Kind::kBracket && !atom.negated) return with_mark(text);
    return in_one_class(atom, with_mark(fmt::format("[{}]", text)), fmt::format("(?:{}|{})", kMark, text));
  }

  std::string without_the_mark(const PatternAtom& atom, std::string_view text) const {
    if (atom.negated)
      return with_mark(atom.kind == PatternAtom::Kind::kBracket ? std::string(text) : as_negated_bracket(text));
    return grouped(atom, fmt::format("(?:(?!{}){})", kMark, text));
  }

  /// Escapes have a place in a class, a class has none.
  std::string in_one_class(const PatternAtom& atom, std::string bracket, std::string group) const {
    return atom.kind == PatternAtom::Kind::kEscape ? std::move(bracket) : grouped(atom, std::move(group));
  }

  std::string grouped(const PatternAtom& atom, std::string group) const {
    core::require(
        !atom.in_look_around, core::ErrorCode::kUnsupported,
        "the pattern '{}' at offset {}: look-around for a class that holds only one of space and U+2581, which "
        "stands for it, is not supported; name the characters",
        pattern_, atom.begin);
    return group;
  }

  std::string_view pattern_;
  ParsedPattern parsed_;
};

}  // namespace

std::string join_patterns(const std::vector<std::string>& patterns, bool marked) {
  std::string joined;
  for (const std::string& pattern : patterns) {
    parse_pattern(pattern, PatternDialect::kOniguruma);  // each by itself: one could end what another begins
    const std::string written = marked ? MarkedPattern(pattern).write() : pattern;
    if (!joined.empty()) joined += '|';
    joined += patterns.size() > 1 ? "(?:" + written + ")" : written;
  }
  if (!joined.empty()) parse_pattern(joined, PatternDialect::kOniguruma);
  return joined;
}

}  // namespace dragoman::tokenizer

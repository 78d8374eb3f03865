#include "atom_parser.h"

#include <string>

namespace dragoman::tokenizer {
namespace {

/// The meaning of one atom, or of one item of a class in brackets.
struct Item {
  icu::UnicodeSet characters;
  std::optional<char32_t> single;  ///< if it is one character
  bool negated = false;
  /// In brackets: the offset for another item, after the last one or before a hyphen that must stay last.
  std::size_t room = 0;
};

Item one_character(char32_t c) {
  const auto code_point = static_cast<UChar32>(c);
  return {.characters = icu::UnicodeSet(code_point, code_point), .single = c};
}

std::optional<char32_t> control_character(char letter) {
  switch (letter) {
    case 't':
      return U'\t';
    case 'n':
      return U'\n';
    case 'r':
      return U'\r';
    case 'f':
      return U'\f';
    default:
      return std::nullopt;
  }
}

bool is_ascii_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

class AtomReader {
 public:
  explicit AtomReader(PatternScanner& in) : in_(in) {}

  Item read() {
    if (in_.peek() == '[') return bracket();
    if (in_.take('.')) return any_but_line_feed();
    return character_or_escape();
  }

 private:
  static Item any_but_line_feed() {
    Item item{.characters = icu::UnicodeSet(U'\n', U'\n'), .single = {}};
    item.characters.complement();
    return item;
  }

  Item character_or_escape() { return in_.peek() == '\\' ? escape() : one_character(in_.take_character()); }

  Item escape() {
    const std::size_t begin = in_.offset();
    const char letter = in_.peek(1);
    in_.skip(2);
    if (letter == 'x' || letter == 'u') return one_character(code_point(letter, begin));
    if (const auto control = control_character(letter)) return one_character(*control);
    if (is_ascii_punctuation(letter) || letter == ' ') return one_character(static_cast<unsigned char>(letter));
    if (letter == 'p' || letter == 'P') return property(begin, letter == 'P');
    const bool negated = letter >= 'A' && letter <= 'Z';
    const auto known = class_of_escape(negated ? static_cast<char>(letter - 'A' + 'a') : letter, in_brackets_);
    if (!known) in_.fail_at(begin, "this escape is not supported");
    return finish(*known, negated);
  }

  static Item finish(const icu::UnicodeSet& characters, bool negated) {
    Item item{.characters = characters, .single = {}, .negated = negated};
    if (negated) item.characters.complement();
    return item;
  }

  /// Reads \xHH below 80, or \uHHHH. For larger values, \x is a byte in one program and a character in the other.
  char32_t code_point(char letter, std::size_t begin) {
    const std::size_t digits = letter == 'x' ? 2 : 4;
    const std::string_view text = in_.rest().substr(0, digits);
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    const bool complete = error == std::errc() && text.size() == digits && end == text.data() + digits;
    if (!complete || (letter == 'x' && value > 0x7F) || (value >= 0xD800 && value <= 0xDFFF))
      in_.fail_at(begin, "write \\xHH up to 7F, \\uHHHH, or the character itself");
    in_.skip(digits);
    return value;
  }

  Item property(std::size_t begin, bool negated) {
    const std::string_view rest = in_.rest();
    const std::size_t close = rest.find('}');
    if (!rest.starts_with('{') || close == std::string_view::npos) in_.fail_at(begin, "write \\p{Lu} or \\p{Greek}");
    const auto known = class_of_property(rest.substr(1, close - 1));
    if (!known)
      in_.fail_at(begin, "not a general category (L, Lu, ..., Zs; C is not supported) nor the name of a script");
    in_.skip(close + 1);
    return finish(*known, negated);
  }

  // ---- [...]

  Item bracket() {
    const std::size_t begin = in_.offset();
    in_.take('[');
    in_brackets_ = true;
    Item item{.characters = {}, .single = {}, .negated = in_.take('^')};
    bool first = true;
    while (!in_.at_end() && (first || in_.peek() != ']')) {
      const std::size_t last = in_.offset();
      add_item(item.characters, first);
      first = false;
      const std::string_view text = in_.since(last);
      item.room = text.ends_with('-') && text != "\\-" ? last : in_.offset();
    }
    if (!in_.take(']')) in_.fail_at(begin, "this [ is not closed; write \\[ for the character");
    if (item.negated) item.characters.complement();
    return item;
  }

  void add_item(icu::UnicodeSet& characters, bool first) {
    const std::size_t begin = in_.offset();
    check_item(first);
    const Item from = character_or_escape();
    if (in_.peek() != '-' || in_.peek(1) == ']') {
      characters.addAll(from.characters);
      return;
    }
    in_.take('-');
    if (in_.at_end()) return;  // the missing ] is reported elsewhere
    check_item(false);
    const Item to = character_or_escape();
    if (!from.single || !to.single || *from.single > *to.single)
      in_.fail_at(begin, "not a range from a smaller to a larger character; write \\- for the hyphen");
    characters.add(static_cast<UChar32>(*from.single), static_cast<UChar32>(*to.single));
  }

  /// Rejects items that are a character in one program, and a nested class or an operation on classes in the other.
  void check_item(bool first) const {
    if (in_.peek() == '[') in_.fail("write \\[ for the character; classes in classes are not supported");
    if (first && in_.peek() == ']') in_.fail("this class is empty; write \\] for the character");
    if (in_.peek() == '&' && in_.peek(1) == '&') in_.fail("write \\& for the character; && is not supported");
    if (!first && in_.peek() == '-' && in_.peek(1) != ']') in_.fail("write \\- for the hyphen");
    if (in_.peek() == '\\' && (in_.peek(1) == 'b' || in_.peek(1) == 'B')) in_.fail("\\b has no place in a class");
  }

  PatternScanner& in_;
  bool in_brackets_ = false;
};

PatternAtom::Kind kind_of(std::string_view text) {
  if (text.starts_with('[')) return PatternAtom::Kind::kBracket;
  return PatternAtom::Kind::kEscape;
}

}  // namespace

std::uint32_t read_atom(PatternScanner& in, ParsedPattern& parsed, bool in_look_around) {
  const std::size_t begin = in.offset();
  const std::string_view text = in.rest();
  const Item item = AtomReader(in).read();
  const std::uint32_t number = add_class(parsed, in.since(begin), item.characters);
  parsed.atoms.push_back({.kind = item.single ? PatternAtom::Kind::kLiteral : kind_of(text),
                          .begin = begin,
                          .end = in.offset(),
                          .room = item.room,
                          .characters = number,
                          .negated = item.negated,
                          .in_look_around = in_look_around});
  return number;
}

std::uint32_t add_class(ParsedPattern& parsed, std::string_view text, const icu::UnicodeSet& characters) {
  const auto number = static_cast<std::uint32_t>(parsed.program.classes.size());
  if (characters.containsSome(0x80, 0x10FFFF) != 0) {
    const auto [known, is_new] = parsed.shared_classes.emplace(text, number);
    if (!is_new) return known->second;
  }
  parsed.program.classes.push_back(characters);
  parsed.program.classes.back().compact();
  return number;
}

}  // namespace dragoman::tokenizer

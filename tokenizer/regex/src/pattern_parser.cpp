#include "regex/pattern_parser.h"

#include "atom_parser.h"
#include "pattern_scanner.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace dragoman::tokenizer {
namespace {

using Kind = Instruction::Kind;

constexpr std::size_t kMaxInstructions = 4096;
constexpr int kMaxDepth = 100;

/// The instructions for a part of the pattern. They are left at their end.
struct Code {
  std::vector<Instruction> steps;
  bool can_be_empty = true;
};

struct Quantifier {
  std::size_t least = 1;
  std::optional<std::size_t> most;  ///< not set: no limit
  bool lazy = false;
  bool possessive = false;  ///< never gives back what it has consumed
};

/// Equivalent to closeOver(USET_CASE_INSENSITIVE) for a set of ASCII characters, but a hundred times faster. Patterns
/// may have tens of thousands of letters.
void add_other_cases(icu::UnicodeSet& ascii) {
  constexpr UChar32 kToUpper = 'A' - 'a';
  constexpr UChar32 kKelvin = 0x212A;
  constexpr UChar32 kLongS = 0x17F;
  for (UChar32 lower = 'a'; lower <= 'z'; ++lower) {
    if (ascii.contains(lower) == 0 && ascii.contains(lower + kToUpper) == 0) continue;
    ascii.add(lower).add(lower + kToUpper);
    if (lower == 'k') ascii.add(kKelvin);
    if (lower == 's') ascii.add(kLongS);
  }
}

class PatternParser {
 public:
  explicit PatternParser(std::string_view pattern) : in_(pattern) {}

  ParsedPattern parse() {
    Code code = alternatives();
    if (!in_.at_end()) in_.fail("this ) closes nothing; write \\) for the character");
    if (code.can_be_empty) in_.fail_at(0, "it can match the empty text; a match must have at least one character");
    code.steps.push_back({.kind = Kind::kMatch});
    for (Instruction& step : code.steps)
      if (step.kind == Kind::kSplit) step.memory = parsed_.program.splits++;
    parsed_.program.code = std::move(code.steps);
    for (icu::UnicodeSet& set : parsed_.program.classes) set.freeze();
    return std::move(parsed_);
  }

 private:
  Code alternatives() {
    Code code = sequence();
    while (in_.take('|')) code = either(std::move(code), sequence());
    return code;
  }

  Code sequence() {
    Code code;
    while (!in_.at_end() && in_.peek() != '|' && in_.peek() != ')') append(code, repeated());
    return code;
  }

  Code repeated() {
    const std::size_t begin = in_.offset();
    Code code = part();
    const auto quantifier = read_quantifier();
    if (!quantifier) return code;
    if (code.can_be_empty) in_.fail_at(begin, "what is repeated here can match the empty text");
    if (read_quantifier()) in_.fail("a quantifier behind a quantifier is not supported");
    if (quantifier->possessive) return repeat_possessively(code, *quantifier, begin);
    return repeat(code, *quantifier, begin);
  }

  Code part() {
    switch (in_.peek()) {
      case '(':
        return group();
      case '^':
      case '$':
        in_.fail(
            "^ and $ are not supported: words are learned without the lines that they stand in; write \\^ or \\$ for "
            "the character");
      case '*':
      case '+':
      case '?':
        in_.fail("there is nothing to repeat; put a backslash in front for the character");
      case '{':
        if (read_quantifier()) in_.fail_before("there is nothing to repeat; put a backslash in front of the brace");
        [[fallthrough]];
      default:
        return in_.peek() == '\\' ? escape() : single(read_class());
    }
  }

  Code group() {
    const std::size_t begin = in_.offset();
    if (++depth_ > kMaxDepth) in_.fail("groups are nested too deeply");
    in_.take('(');
    Code code = in_.take('?') ? special_group(begin) : alternatives();
    if (!in_.take(')')) in_.fail_at(begin, "this ( is not closed; write \\( for the character");
    --depth_;
    return code;
  }

  Code special_group(std::size_t begin) {
    if (in_.take(':')) return alternatives();
    if (in_.rest().starts_with("i:")) return any_case(begin);
    const bool behind = in_.take('<');
    const bool negative = in_.take('!');
    if (!negative && !in_.take('=')) in_.fail_at(begin, "of groups with (?, only (?: (?= (?! (?<= (?<! are supported");
    constexpr std::string_view kNoCharacter = ")(^$|*+?{";
    if (in_.at_end() || kNoCharacter.find(static_cast<char>(in_.peek())) != std::string_view::npos)
      in_.fail("look-around takes one character or class");
    const std::uint32_t characters = read_atom(in_, parsed_, true);
    if (!in_.at_end() && in_.peek() != ')') in_.fail("look-around takes one character or class");
    return assertion(
        behind ? (negative ? Kind::kNotBehind : Kind::kBehind) : (negative ? Kind::kNotAhead : Kind::kAhead),
        characters);
  }

  /// Supports only ASCII characters, and no sequences that fold to one character, such as `ss`, which Oniguruma would
  /// match.
  Code any_case(std::size_t begin) {
    in_.skip(2);
    const bool before = std::exchange(ignore_case_, true);
    const std::size_t inside = in_.offset();
    Code code = alternatives();
    ignore_case_ = before;
    check_folding(in_.since(inside), begin);
    return code;
  }

  void check_folding(std::string_view group, std::size_t begin) const {
    const auto lower = [&](std::size_t i) { return static_cast<char>(group[i] | 0x20); };
    for (std::size_t i = 0; i + 1 < group.size(); ++i) {
      const bool repeats = group[i + 1] == '*' || group[i + 1] == '+' || group[i + 1] == '{';
      const bool folds =
          (lower(i) == 's' && (lower(i + 1) == 's' || lower(i + 1) == 't' || repeats)) ||
          (lower(i) == 'f' && (lower(i + 1) == 'f' || lower(i + 1) == 'i' || lower(i + 1) == 'l' || repeats));
      // In brackets, only one of them matches at a time.
      if (folds && group.find('[') == std::string_view::npos)
        in_.fail_at(begin, "letters that another character folds to are not supported with (?i:");
    }
  }

  /// Returns the class of an atom, in both cases if requested.
  std::uint32_t read_class() {
    const std::size_t begin = in_.offset();
    const std::uint32_t number = read_atom(in_, parsed_, false);
    if (!ignore_case_) return number;
    icu::UnicodeSet& set = parsed_.program.classes[number];
    if (set.containsSome(0x80, 0x10FFFF) != 0) in_.fail_at(begin, "only ASCII characters are supported with (?i:");
    add_other_cases(set);
    return number;
  }

  Code escape() {
    const char letter = in_.peek(1);
    if (letter == 'b' || letter == 'B') {
      in_.skip(2);
      return assertion(letter == 'b' ? Kind::kWordBoundary : Kind::kNoWordBoundary, word_class());
    }
    return single(read_class());
  }

  std::uint32_t word_class() { return add_class(parsed_, "\\w", *class_of_escape('w', false)); }

  static Code assertion(Kind kind, std::uint32_t characters) {
    return {.steps = {{.kind = kind, .characters = characters}}, .can_be_empty = true};
  }
  static Code single(std::uint32_t characters) {
    return {.steps = {{.kind = Kind::kCharacter, .characters = characters}}, .can_be_empty = false};
  }

  // ---- quantifiers

  std::optional<Quantifier> read_quantifier() {
    if (in_.at_end()) return std::nullopt;
    Quantifier quantifier;
    if (in_.take('*'))
      quantifier = {.least = 0, .most = {}};
    else if (in_.take('+'))
      quantifier = {.least = 1, .most = {}};
    else if (in_.take('?'))
      quantifier = {.least = 0, .most = 1};
    else if (!read_interval(quantifier))
      return std::nullopt;
    quantifier.possessive = take_possessive(quantifier);
    quantifier.lazy = !quantifier.possessive && in_.take('?');  // behind a possessive one, it is another quantifier
    return quantifier;
  }

  /// In Oniguruma, a + after {m,n} is another quantifier.
  bool take_possessive(const Quantifier& quantifier) {
    if (!in_.take('+')) return false;
    const bool interval = in_.since(in_.offset() - 2).front() == '}';
    if (interval) in_.fail_before("this possessive quantifier is not supported");
    return quantifier.least <= 1;
  }

  /// Reads {m}, {m,} or {m,n}. Other braces are characters.
  bool read_interval(Quantifier& quantifier) {
    const std::size_t begin = in_.offset();
    if (!in_.take('{')) return false;
    if (!in_.at_end() && in_.peek() == ',') in_.fail_at(begin, "write {0,n} for a repetition, or \\{ for the brace");
    const auto least = in_.take_number();
    const bool range = least && in_.take(',');
    const auto most = range ? in_.take_number() : least;
    if (!least || !in_.take('}')) {
      in_.go_back_to(begin);
      return false;
    }
    if (most && *most < *least) in_.fail_at(begin, "the second number of the repetition is smaller than the first");
    quantifier = {.least = *least, .most = most};
    const bool fixed = !range;
    if (fixed && !in_.at_end() && in_.peek() == '?') in_.fail("programs differ in what a ? behind {n} means");
    return true;
  }

  Code repeat(const Code& once, const Quantifier& quantifier, std::size_t begin) {
    const std::size_t copies = std::max<std::size_t>(quantifier.most.value_or(quantifier.least + 1), 1);
    if (copies > kMaxInstructions || copies * (once.steps.size() + 2) > kMaxInstructions) fail_for_size(begin);
    Code code;
    for (std::size_t i = 0; i < quantifier.least; ++i) append(code, once);
    if (!quantifier.most)
      append(code, loop(once, quantifier.lazy));
    else
      append(code, optional(once, *quantifier.most - quantifier.least, quantifier.lazy));
    return code;
  }

  /// Supports only one character or class: after all of it has been consumed, none follows.
  Code repeat_possessively(const Code& once, const Quantifier& quantifier, std::size_t begin) {
    if (once.steps.size() != 1 || once.steps[0].kind != Kind::kCharacter)
      in_.fail_at(begin, "a possessive quantifier of more than one character or class is not supported");
    const Code none_follows = assertion(Kind::kNotAhead, once.steps[0].characters);
    if (quantifier.most) return either(once, none_follows);
    Code code = repeat(once, quantifier, begin);
    append(code, none_follows);
    return code;
  }

  /// Emits: split; once; back to the split.
  static Code loop(const Code& once, bool lazy) {
    const auto size = static_cast<std::int32_t>(once.steps.size());
    Code code{.steps = {split(1, size + 2, lazy)}, .can_be_empty = true};
    code.steps.insert(code.steps.end(), once.steps.begin(), once.steps.end());
    code.steps.push_back({.kind = Kind::kJump, .first = -(size + 1)});
    return code;
  }

  /// Emits: split; once; split; once; ... Each split also leads to the end.
  static Code optional(const Code& once, std::size_t times, bool lazy) {
    Code code;
    const auto size = static_cast<std::int32_t>(once.steps.size());
    for (std::size_t i = times; i > 0; --i) {
      code.steps.push_back(split(1, static_cast<std::int32_t>(i) * (size + 1), lazy));
      code.steps.insert(code.steps.end(), once.steps.begin(), once.steps.end());
    }
    return code;
  }

  static Instruction split(std::int32_t into, std::int32_t past, bool lazy) {
    return {.kind = Kind::kSplit, .first = lazy ? past : into, .second = lazy ? into : past};
  }

  Code either(Code first, const Code& second) {
    check_size(first, second);
    const auto first_size = static_cast<std::int32_t>(first.steps.size());
    const auto second_size = static_cast<std::int32_t>(second.steps.size());
    Code code{.steps = {split(1, first_size + 2, false)}, .can_be_empty = first.can_be_empty || second.can_be_empty};
    code.steps.insert(code.steps.end(), first.steps.begin(), first.steps.end());
    code.steps.push_back({.kind = Kind::kJump, .first = second_size + 1});
    code.steps.insert(code.steps.end(), second.steps.begin(), second.steps.end());
    return code;
  }

  void append(Code& code, const Code& next) {
    check_size(code, next);
    code.steps.insert(code.steps.end(), next.steps.begin(), next.steps.end());
    code.can_be_empty = code.can_be_empty && next.can_be_empty;
  }

  void check_size(const Code& first, const Code& second) const {
    if (first.steps.size() + second.steps.size() + 2 > kMaxInstructions) fail_for_size(0);
  }
  [[noreturn]] void fail_for_size(std::size_t offset) const {
    in_.fail_at(offset, "it takes more than 4096 steps; repeat less");
  }

  PatternScanner in_;
  ParsedPattern parsed_;
  int depth_ = 0;
  bool ignore_case_ = false;  // inside (?i:...)
};

}  // namespace

ParsedPattern parse_pattern(std::string_view pattern) {
  return PatternParser(pattern).parse();
}

}  // namespace dragoman::tokenizer

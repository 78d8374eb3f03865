#include "regex/pattern.h"

#include "regex/pattern_parser.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using Kind = Instruction::Kind;

constexpr std::size_t kBitsPerWord = 64;
constexpr std::size_t kMaxMemory = std::size_t{1} << 27;
constexpr std::size_t kMaxMemoryBits = kMaxMemory * 8;

bool at_word_boundary(const icu::UnicodeSet& word, std::string_view text, std::size_t at) {
  return ends_with_character(word, text, at) != (match_character(word, text, at) > 0);
}

/// Returns whether a step that consumes no character succeeds here.
bool holds(const Instruction& step, const PatternProgram& program, std::string_view text, std::size_t at) {
  const icu::UnicodeSet& characters = program.classes[step.characters];
  switch (step.kind) {
    case Kind::kAhead:
      return match_character(characters, text, at) > 0;
    case Kind::kNotAhead:
      return match_character(characters, text, at) == 0;
    case Kind::kBehind:
      return ends_with_character(characters, text, at);
    case Kind::kNotBehind:
      return !ends_with_character(characters, text, at);
    case Kind::kWordBoundary:
      return at_word_boundary(characters, text, at);
    default:
      return !at_word_boundary(characters, text, at);
  }
}

std::uint32_t target(std::uint32_t step, std::int32_t jump) {
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(step) + jump);
}

}  // namespace

Pattern::Pattern(std::string_view pattern) : program_(parse_pattern(pattern).program) {
  find_first_bytes();
}

/// Finds the first bytes of all steps that can start a match, as if steps that consume no character always succeeded.
void Pattern::find_first_bytes() {
  std::vector<bool> seen(program_.code.size(), false);
  std::vector<std::uint32_t> waiting = {0};
  while (!waiting.empty()) {
    const std::uint32_t at = waiting.back();
    waiting.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    const Instruction& step = program_.code[at];
    if (step.kind == Kind::kCharacter) {
      add_first_bytes(program_.classes[step.characters]);
    } else if (step.kind != Kind::kMatch) {
      waiting.push_back(target(at, step.first));
      waiting.push_back(target(at, step.second));
    }
  }
}

void Pattern::add_first_bytes(const icu::UnicodeSet& characters) {
  for (UChar32 c = 0; c < 0x80; ++c)
    if (characters.contains(c) != 0) first_bytes_[static_cast<std::size_t>(c)] = true;
  if (characters.containsSome(0x80, 0x10FFFF) != 0) std::fill(first_bytes_.begin() + 0x80, first_bytes_.end(), true);
}

bool Pattern::stops_before(char32_t character) const {
  return std::none_of(program_.code.begin(), program_.code.end(), [&](const Instruction& step) {
    const bool takes = step.kind == Kind::kCharacter || step.kind == Kind::kAhead || step.kind == Kind::kNotAhead;
    return takes && program_.classes[step.characters].contains(static_cast<UChar32>(character)) != 0;
  });
}

std::optional<Pattern::Match> Pattern::Search::next() {
  for (; at_ < text_.size(); at_ += core::decode_utf8(text_, at_).length) {
    if (!pattern_.first_bytes_[static_cast<unsigned char>(text_[at_])]) continue;
    if (const auto end = end_of_match(at_)) {
      const Match match{at_, *end};
      at_ = *end;
      return match;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> Pattern::Search::end_of_match(std::size_t begin) {
  const PatternProgram& program = pattern_.program_;
  waiting_.clear();
  std::uint32_t step = 0;
  for (std::size_t at = begin;;) {
    const Instruction& now = program.code[step];
    if (!work_.take()) give_up();
    bool alive = true;
    if (now.kind == Kind::kMatch) return at;
    if (now.kind == Kind::kCharacter) {
      const std::size_t length = match_character(program.classes[now.characters], text_, at);
      alive = length > 0;
      at += length;
    } else if (now.kind == Kind::kSplit) {
      alive = enter_split(now.memory, at);
      if (alive) put_off(target(step, now.second), at);
    } else if (now.kind != Kind::kJump) {
      alive = holds(now, program, text_, at);
    }
    if (alive) {
      step = target(step, now.first);
    } else {
      if (waiting_.empty()) return std::nullopt;
      step = waiting_.back().step;
      at = waiting_.back().at;
      waiting_.pop_back();
    }
  }
}

void Pattern::Search::give_up() const {
  work_.require_not_stopped();
  core::fail(core::ErrorCode::kBadInput,
             "a pattern gives up on a text of {} bytes: too many steps; cut the text into lines, or simplify the "
             "pattern",
             text_.size());
}

/// Positions fit into 32 bits: make_memory() rejects longer texts.
void Pattern::Search::put_off(std::uint32_t step, std::size_t at) {
  core::require(waiting_.size() < kMaxMemory / sizeof(State), core::ErrorCode::kBadInput,
                "a line of {} bytes leaves its pattern with more than {} alternatives and repetitions to come back to "
                "in one match; cut it or simplify the pattern",
                text_.size(), waiting_.size());
  waiting_.push_back({step, static_cast<std::uint32_t>(at)});
}

/// Returns false if the split was entered there before. It has then failed there, even after a match: the search
/// continues at the end of the match. The path to the match can have reached a split there only to match nothing more.
/// Entering it again would match the empty text, which patterns cannot.
bool Pattern::Search::enter_split(std::uint32_t memory, std::size_t at) {
  if (failed_.empty()) make_memory();
  const std::size_t bit = at * pattern_.program_.splits + memory;
  std::uint64_t& word = failed_[bit / kBitsPerWord];
  const std::uint64_t mask = std::uint64_t{1} << (bit % kBitsPerWord);
  if ((word & mask) != 0) return false;
  word |= mask;
  return true;
}

void Pattern::Search::make_memory() {
  const std::size_t splits = pattern_.program_.splits;
  core::require(text_.size() < kMaxMemoryBits / splits, core::ErrorCode::kBadInput,
                "a line of {} bytes is too long for its pattern, which has {} alternatives and repetitions; cut it or "
                "simplify the pattern",
                text_.size(), splits);
  failed_.assign((text_.size() + 1) * splits / kBitsPerWord + 1, 0);
}

}  // namespace dragoman::tokenizer

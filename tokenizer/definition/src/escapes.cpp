#include "definition/escapes.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;
using Kind = NormalizerStep::Kind;

constexpr char32_t kFirst = 0x2400;         // plus the number of a special token
constexpr char32_t kEscapeItself = 0x241A;  // follows U+241B to escape U+241B itself
constexpr char32_t kMark = 0x2423;          // follows U+241B to escape the word mark
constexpr std::size_t kMaxTokens = kEscapeItself - kFirst;
constexpr std::size_t kLength = 6;  // of an escape: two characters of three bytes

std::string escape_with(char32_t which) {
  std::string text(kEscapeCharacter);
  core::append_utf8(text, which);
  return text;
}

bool is_one_character(std::string_view text) {
  return !text.empty() && core::decode_utf8(text, 0).length == text.size();
}

bool is_escape_step(const NormalizerStep& step) {
  return step.kind == Kind::kReplace && is_escape({step.content, step.pattern});
}

/// Returns the position for new escapes: after all other changes of the text, and before the steps that insert the
/// marks.
NormalizerSteps::iterator end_of_escapes(NormalizerSteps& steps) {
  const auto last = std::find_if(steps.rbegin(), steps.rend(), is_escape_step);
  if (last != steps.rend()) return last.base();
  return std::ranges::find(steps, Kind::kPrepend, &NormalizerStep::kind);
}

const std::vector<Replacement>& escapes_of(const BpeDefinition& definition) {
  static const std::vector<Replacement> kNone;
  const DecoderSteps* decoder = definition.decoder_steps();
  return decoder == nullptr ? kNone : decoder->escapes;
}

void append(BpeDefinition& definition, const std::string& character, char32_t which) {
  auto& text = std::get<CharacterText>(definition.text);
  auto& undone = std::get<DecoderSteps>(text.decoder).escapes;
  text.normalizer.insert(end_of_escapes(text.normalizer), {Kind::kReplace, character, escape_with(which)});
  undone.insert(undone.begin(), {escape_with(which), character});
}

void append_token(BpeDefinition& definition, const std::string& token) {
  require(
      !is_escape_character(token), ErrorCode::kInvalidArgument,
      "the special token '{}' is one of the characters U+2400 to U+2423, with which others are escaped; use another",
      token);
  const auto is_of_token = [](const Replacement& undone) { return undone.pattern < escape_with(kEscapeItself); };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(escapes_of(definition), is_of_token));
  require(count < kMaxTokens, ErrorCode::kInvalidArgument,
          "the special token '{}' is one of more than {} of one character; give it two or more", token, kMaxTokens);
  append(definition, token, static_cast<char32_t>(kFirst + count));
}

}  // namespace

bool is_escape_character(std::string_view text) noexcept {
  if (!is_one_character(text)) return false;
  const char32_t c = core::decode_utf8(text, 0).code_point;
  return c >= kFirst && c <= kMark;
}

void add_escapes(BpeDefinition& definition, bool mark) {
  std::vector<std::string> tokens;
  for (const AddedToken& token : definition.added_tokens) {
    const std::string& text = definition.pieces[static_cast<std::size_t>(token.id)];
    if (token.special && is_one_character(text)) tokens.push_back(text);
  }
  if (!mark && tokens.empty()) return;
  append(definition, std::string(kEscapeCharacter), kEscapeItself);
  if (mark) append(definition, kWordMark, kMark);
  for (const std::string& token : tokens) append_token(definition, token);
}

void add_escape(BpeDefinition& definition, const std::string& token) {
  require(
      !escapes_of(definition).empty(), ErrorCode::kInvalidArgument,
      "the special token '{}' is a single character, which this vocabulary could not tell from the same character in "
      "a text; give it two or more, or learn a vocabulary with it",
      token);
  append_token(definition, token);
}

bool escapes_only_mark(const BpeDefinition& definition) {
  const std::vector<Replacement>& escapes = escapes_of(definition);
  return escapes.size() == 2 && escapes.front().content == kWordMark;
}

BpeDefinition without_escapes(BpeDefinition definition) {
  if (auto* text = std::get_if<CharacterText>(&definition.text)) std::erase_if(text->normalizer, is_escape_step);
  if (DecoderSteps* decoder = definition.decoder_steps()) decoder->escapes.clear();
  return definition;
}

bool is_escape(const Replacement& undone) noexcept {
  if (!undone.pattern.starts_with(kEscapeCharacter)) return false;
  const std::string_view which = std::string_view(undone.pattern).substr(kEscapeCharacter.size());
  if (!is_escape_character(which) || !is_one_character(undone.content)) return false;
  return (which == "\xE2\x90\x9A") == (undone.content == kEscapeCharacter) &&
         (undone.content == kEscapeCharacter || !is_escape_character(undone.content));
}

/// One pass is equivalent to the replacements one after the other, because the result of an escape is never part of
/// another escape.
std::size_t undo_escapes(const std::vector<Replacement>& escapes, std::string_view text, bool more, std::string& out) {
  std::size_t done = 0;
  for (std::size_t at = text.find(kEscapeCharacter); at != std::string_view::npos;
       at = text.find(kEscapeCharacter, at)) {
    const std::string_view found = text.substr(at, kLength);
    const auto escape = std::ranges::find(escapes, found, &Replacement::pattern);
    if (escape == escapes.end()) {
      if (more && found.size() < kLength) break;
      at += kEscapeCharacter.size();
      continue;
    }
    out.append(text, done, at - done).append(escape->content);
    done = at += kLength;
  }
  std::size_t end = text.size();
  for (std::size_t kept = std::min(kLength - 1, end - done); more && kept > 0; --kept) {
    const std::string_view tail = text.substr(end - kept);
    const bool unfinished =
        std::ranges::any_of(escapes, [&](const Replacement& escape) { return escape.pattern.starts_with(tail); });
    if (!unfinished) continue;
    end -= kept;
    break;
  }
  out.append(text, done, end - done);
  return end;
}

}  // namespace dragoman::tokenizer

#pragma once

#include "regex/matcher.h"
#include "target.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unicode/uchar.h>

#include <dragoman/core/utf8.h>

namespace dragoman::fuzz {

using MatchRanges = std::vector<std::pair<std::size_t, std::size_t>>;

/// None if the engine cannot read the expression, or gives up on the text.
inline std::optional<MatchRanges> matches_by(tokenizer::Matcher::Engine engine, const std::string& expression,
                                             std::string_view text) {
  MatchRanges found;
  std::size_t last = 0;
  const bool done = accepts([&] {
    const tokenizer::Matcher matcher(expression, engine);
    matcher.for_each(text, [&](std::size_t begin, std::size_t end) {
      promise(begin >= last && end >= begin && end <= text.size(), "matches follow one another and lie in the text");
      last = end;
      found.emplace_back(begin, end);
    });
  });
  return done ? std::optional(std::move(found)) : std::nullopt;
}

/// The engines have tables of different versions of Unicode.
inline bool is_known_to_both(std::string_view text) {
  constexpr std::uint8_t kVersion = 13;
  for (std::size_t at = 0; at < text.size();) {
    const core::DecodedCharacter c = core::decode_utf8(text, at);
    UVersionInfo age;
    u_charAge(static_cast<UChar32>(c.code_point), age);
    if (age[0] == 0 || age[0] > kVersion) return false;
    at += c.length;
  }
  return true;
}

/// Takes the first line as a regular expression and the rest as the text to search, with both engines, which must find
/// the same where both read the expression. True if one did.
inline bool exercise_matcher(std::string_view bytes) {
  using Engine = tokenizer::Matcher::Engine;
  const std::string expression(bytes.substr(0, bytes.find('\n')));
  const std::string_view text = bytes.substr(std::min(expression.size() + 1, bytes.size()));
  const auto own = matches_by(Engine::kLinear, expression, text);
  const auto other = matches_by(Engine::kOniguruma, expression, text);
  if (own && other && is_known_to_both(text) && is_known_to_both(expression))
    promise(*own == *other, "both engines find the same");
  return own || other;
}

/// As the target `pattern`, and what Oniguruma may go back.
inline Target matcher_target() {
  return {.name = "matcher",
          .exercise = exercise_matcher,
          .budget = {.milliseconds = 1000, .microseconds_per_byte = 25, .bytes_per_byte = 3072}};
}

}  // namespace dragoman::fuzz

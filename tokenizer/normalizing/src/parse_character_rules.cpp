#include "normalizing/character_rules.h"

#include <charconv>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::require;

/// SentencePiece's reader of maps fails on longer chains of rules with a common prefix.
constexpr std::size_t kLongestSource = 32;
constexpr std::size_t kLongestReplacement = 256;

std::u32string parse_code_points(std::string_view field, const std::string& where) {
  std::u32string text;
  for (std::size_t begin = 0; begin < field.size();) {
    if (field[begin] == ' ') {
      ++begin;
      continue;
    }
    const std::string_view word = field.substr(begin, field.find(' ', begin) - begin);
    begin += word.size();
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
    const bool is_character = value > 0 && value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
    require(error == std::errc() && end == word.data() + word.size() && is_character, ErrorCode::kBadInput,
            "{}: {} is not the code point of a character in hexadecimal, such as 0041", where, core::Quoted{word});
    text.push_back(value);
  }
  return text;
}

}  // namespace

CharacterRules parse_character_rules(std::string_view tsv, const std::string& name) {
  CharacterRules rules;
  std::size_t line_number = 0;
  while (!tsv.empty()) {
    std::string_view line = tsv.substr(0, tsv.find('\n'));
    tsv.remove_prefix(std::min(line.size() + 1, tsv.size()));
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::string where = fmt::format("{}: line {}", name, line_number);
    const std::string_view source = line.substr(0, line.find('\t'));
    line.remove_prefix(std::min(source.size() + 1, line.size()));
    std::u32string key = parse_code_points(source, where);
    std::u32string target = parse_code_points(line.substr(0, line.find('\t')), where);
    require(!key.empty(), ErrorCode::kBadInput,
            "{}: no code points before the tab; a rule says what is replaced, then a tab, then by what", where);
    require(key.size() <= kLongestSource && target.size() <= kLongestReplacement, ErrorCode::kBadInput,
            "{}: a rule of {} characters for {} is too long; at most {} for {}", where, target.size(), key.size(),
            kLongestReplacement, kLongestSource);
    require(rules.emplace(std::move(key), std::move(target)).second, ErrorCode::kBadInput,
            "{}: an earlier line replaces the same characters; leave one of them out", where);
  }
  require(!rules.empty(), ErrorCode::kBadInput, "{}: no rules; each line has code points, a tab, and code points",
          name);
  return rules;
}

}  // namespace dragoman::tokenizer

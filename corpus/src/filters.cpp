#include "dragoman/corpus/filters.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <unicode/uchar.h>

#include <dragoman/core/error.h>
#include <dragoman/core/utf8.h>

namespace dragoman::corpus {
namespace {

using core::ErrorCode;

constexpr std::array<std::string_view, kReasons> kNames = {
    "malformed", "empty",     "too-short",        "too-long",        "length-ratio", "identical",
    "long-word", "control",   "few-letters",      "other-script",    "numbers",      "url",
    "markup",    "duplicate", "duplicate-source", "duplicate-target"};

bool is_ascii_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Returns the numbers in a text, in order. Digits of other scripts become ASCII digits.
std::vector<std::string> numbers_of(std::string_view text) {
  std::vector<std::string> numbers;
  bool inside = false;
  const auto add_digit = [&](std::int32_t digit) {
    if (!inside) numbers.emplace_back();
    inside = true;
    std::string& number = numbers.back();
    if (number == "0") number.clear();
    number += static_cast<char>('0' + digit);
  };
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      ++i;
      if (is_ascii_digit(static_cast<char>(byte)))
        add_digit(byte - '0');
      else
        inside = false;
      continue;
    }
    const core::DecodedCharacter c = core::decode_utf8(text, i);
    i += c.length;
    const std::int32_t digit = c.valid ? u_charDigitValue(static_cast<UChar32>(c.code_point)) : -1;
    if (digit >= 0)
      add_digit(digit);
    else
      inside = false;
  }
  std::ranges::sort(numbers);
  return numbers;
}

/// Returns whether the "@" at `at` is between a name and a host that contains a dot.
bool is_mail(std::string_view text, std::size_t at) {
  const auto fits = [](char c) { return is_ascii_letter(c) || is_ascii_digit(c) || c == '-' || c == '_'; };
  if (at == 0 || !fits(text[at - 1])) return false;
  // The host is valid if a dot is followed by two letters.
  for (std::size_t i = at + 1; i + 2 < text.size() && (fits(text[i]) || text[i] == '.'); ++i)
    if (text[i] == '.' && i > at + 1 && is_ascii_letter(text[i + 1]) && is_ascii_letter(text[i + 2])) return true;
  return false;
}

bool is_tag(std::string_view text, std::size_t begin) {
  std::size_t i = begin + 1;
  if (text.substr(begin).starts_with("<!--")) return true;
  if (i < text.size() && text[i] == '/') ++i;
  if (i >= text.size() || !is_ascii_letter(text[i])) return false;
  // A tag's name, and then one of its possible continuations.
  while (i < text.size() && (is_ascii_letter(text[i]) || is_ascii_digit(text[i]) || text[i] == '-')) ++i;
  if (i < text.size() && (text[i] == '>' || text.substr(i).starts_with("/>"))) return true;
  if (i >= text.size() || text[i] != ' ') return false;
  const std::size_t close = text.find_first_of("<>", i);
  const std::string_view inside = text.substr(i, close - i);
  return close != std::string_view::npos && text[close] == '>' &&
         (inside.find('=') != std::string_view::npos || inside.find_first_not_of(" /") == std::string_view::npos);
}

bool is_reference(std::string_view text, std::size_t begin) {
  constexpr std::size_t kLongest = 10;
  std::size_t i = begin + 1;
  const bool numeric = i < text.size() && text[i] == '#';
  if (numeric) ++i;
  if (numeric && i < text.size() && (text[i] == 'x' || text[i] == 'X')) ++i;
  const std::size_t first = i;
  while (i < text.size() && i - first < kLongest && (is_ascii_letter(text[i]) || is_ascii_digit(text[i]))) ++i;
  return i > first + (numeric ? 0U : 1U) && i < text.size() && text[i] == ';';
}

template <class Matches>
bool any_at(std::string_view text, char c, Matches matches) {
  for (std::size_t i = text.find(c); i != std::string_view::npos; i = text.find(c, i + 1))
    if (matches(text, i)) return true;
  return false;
}

void require_share(double value, std::string_view name) {
  core::require(value >= 0 && value <= 1, ErrorCode::kInvalidArgument, "{} is {}; it must be from 0 to 1", name, value);
}

}  // namespace

std::string_view name_of(Reason reason) {
  return kNames[static_cast<std::size_t>(reason)];
}

void check(const FilterOptions& options) {
  core::require(options.minimum_length <= options.maximum_length, ErrorCode::kInvalidArgument,
                "the minimum length {} is more than the maximum length {}", options.minimum_length,
                options.maximum_length);
  core::require(options.maximum_ratio == 0 || options.maximum_ratio >= 1, ErrorCode::kInvalidArgument,
                "the maximum ratio is {}; it must be 1 or more, or 0 for no limit", options.maximum_ratio);
  require_share(options.minimum_letters, "the least share of letters");
  require_share(options.minimum_script, "the least share of the main script");
  require_share(options.minimum_numbers, "the least likeness of numbers");
}

PairFilter::PairFilter(const FilterOptions& options, PieceCounter source_pieces, PieceCounter target_pieces)
    : options_(options), source_pieces_(std::move(source_pieces)), target_pieces_(std::move(target_pieces)) {
  check(options_);
  core::require(options_.unit != LengthUnit::kPieces || (source_pieces_ && target_pieces_), ErrorCode::kInvalidArgument,
                "lengths in pieces need a tokenizer");
}

SideProfile PairFilter::profile(std::string_view text, const PieceCounter& pieces) const {
  SideProfile side{.text = profile_of(text)};
  switch (options_.unit) {
    case LengthUnit::kWords:
      side.length = side.text.words;
      break;
    case LengthUnit::kCharacters:
      side.length = side.text.characters;
      break;
    case LengthUnit::kPieces:
      side.length = pieces(text);
      break;
  }
  return side;
}

std::optional<Reason> PairFilter::judge(std::string_view source, const SideProfile& source_side,
                                        std::string_view target, const SideProfile& target_side) const {
  if (const auto reason = judge_length(source_side, target_side)) return reason;
  if (options_.drop_identical && source == target) return Reason::kIdentical;
  std::optional<Reason> worst;
  for (const auto& reason : {judge_characters(source_side, scripts_[0]), judge_characters(target_side, scripts_[1])})
    if (reason && (!worst || *reason < *worst)) worst = reason;
  if (worst) return worst;
  if (options_.minimum_numbers > 0 && likeness_of_numbers(source, target) < options_.minimum_numbers)
    return Reason::kNumbers;
  if (options_.drop_urls && (has_url(source) || has_url(target))) return Reason::kUrl;
  if (options_.drop_markup && (has_markup(source) || has_markup(target))) return Reason::kMarkup;
  return std::nullopt;
}

std::optional<Reason> PairFilter::judge_length(const SideProfile& source, const SideProfile& target) const {
  if (source.text.words == 0 || target.text.words == 0) return Reason::kEmpty;
  const auto [shorter, longer] = std::minmax(source.length, target.length);
  if (shorter < options_.minimum_length) return Reason::kTooShort;
  if (longer > options_.maximum_length) return Reason::kTooLong;
  if (options_.maximum_ratio > 0 && static_cast<double>(longer) > options_.maximum_ratio * static_cast<double>(shorter))
    return Reason::kLengthRatio;
  return std::nullopt;
}

std::optional<Reason> PairFilter::judge_characters(const SideProfile& side, Script script) const {
  const TextProfile& text = side.text;
  if (options_.maximum_word_length > 0 && text.longest_word > options_.maximum_word_length) return Reason::kLongWord;
  if (options_.drop_controls && text.controls > 0) return Reason::kControl;
  const auto share_is_below = [](std::uint64_t part, std::uint64_t whole, double least) {
    return static_cast<double>(part) < least * static_cast<double>(whole);
  };
  if (share_is_below(text.letters, text.characters - text.spaces, options_.minimum_letters)) return Reason::kFewLetters;
  if (script != 0 && options_.minimum_script > 0) {
    std::uint64_t of_any = 0;
    for (const std::uint32_t count : text.scripts) of_any += count;
    if (share_is_below(text.scripts[script], of_any, options_.minimum_script)) return Reason::kOtherScript;
  }
  return std::nullopt;
}

double likeness_of_numbers(std::string_view source, std::string_view target) {
  const std::vector<std::string> a = numbers_of(source);
  const std::vector<std::string> b = numbers_of(target);
  if (a.empty() && b.empty()) return 1;
  std::vector<std::string> common;
  std::ranges::set_intersection(a, b, std::back_inserter(common));
  return 2 * static_cast<double>(common.size()) / static_cast<double>(a.size() + b.size());
}

bool has_url(std::string_view text) {
  const auto is_scheme = [](std::string_view whole, std::size_t colon) {
    return colon > 0 && is_ascii_letter(whole[colon - 1]) && whole.substr(colon).starts_with("://");
  };
  const auto is_www = [](std::string_view whole, std::size_t w) {
    const bool begins = w == 0 || !(is_ascii_letter(whole[w - 1]) || is_ascii_digit(whole[w - 1]));
    const std::string_view rest = whole.substr(w);
    return begins && (rest.starts_with("www.") || rest.starts_with("WWW.")) && rest.size() > 4 &&
           (is_ascii_letter(rest[4]) || is_ascii_digit(rest[4]));
  };
  return any_at(text, ':', is_scheme) || any_at(text, 'w', is_www) || any_at(text, 'W', is_www) ||
         any_at(text, '@', is_mail);
}

bool has_markup(std::string_view text) {
  return any_at(text, '<', is_tag) || any_at(text, '&', is_reference);
}

}  // namespace dragoman::corpus

#include "pre_tokenizer_part.h"

#include "common_parts.h"
#include "pre_tokenizing/inner_splits.h"
#include "pre_tokenizing/named_patterns.h"
#include "regex/pattern_parser.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::tokenizer {
namespace {

using core::Quoted;

void read_isolated(const JsonPart& part, InnerCuts& inner) {
  const std::string expression = child(part, "pattern").text("Regex");
  if (expression == kCasePattern) {
    inner.letter_case = true;
    return;
  }
  if (expression == kPunctuationPattern) {
    inner.punctuation = true;
    return;
  }
  try {
    parse_pattern(expression);
  } catch (const core::Error& error) {
    unsupported(part.where(), fmt::format("its regular expression ({})", error.what()));
  }
  inner.protected_pattern = expression;
}

void allow_split_keys(const JsonPart& part) {
  part.allow({"type", "pattern", "behavior", "invert"});
}

void read_split(const JsonPart& part, PreTokenizerPart& result) {
  allow_split_keys(part);
  const std::string behavior = part.text("behavior");
  if (part.flag("invert")) unsupported(part.where(), "invert");
  if (behavior == "Isolated" && has_regular_expression(part)) return read_isolated(part, result.inner);
  if (behavior != "MergedWithNext" && behavior != "Removed")
    unsupported(part.where(), fmt::format("the behavior {}", Quoted{behavior}));
  if (behavior == "Removed")
    result.words = SplitBetween{.separator = string_pattern(part)};
  else
    result.words = SplitBefore{.mark = string_pattern(part)};
}

/// Reads a Split or Digits.
void read_cut(const JsonPart& part, PreTokenizerPart& result) {
  if (part.type() == "Split") return read_split(part, result);
  part.allow({"type", "individual_digits"});
  if (!part.flag("individual_digits")) unsupported(part.where(), "'Digits' without individual_digits");
  result.inner.digits = true;
}

int place_of(const JsonPart& cut) {
  if (cut.type() == "Digits") return 4;
  if (!has_regular_expression(cut)) return 2;
  const nlohmann::json& expression = cut.get("pattern")["Regex"];
  return expression == kPunctuationPattern ? 3 : expression == kCasePattern ? 1 : 0;
}

/// The steps must be in the order in which they are written. Another order would split matches of the pattern before
/// they are found.
void read_cuts(const JsonPart& sequence, PreTokenizerPart& result) {
  sequence.allow({"type", "pretokenizers"});
  int last = -1;
  for (std::size_t i = 0; i < sequence.array("pretokenizers").size(); ++i) {
    const JsonPart cut = element(sequence, "pretokenizers", i);
    const std::string type = cut.type();
    if (type != "Split" && type != "Digits") unsupported(cut.where(), fmt::format("{} in a sequence", Quoted{type}));
    read_cut(cut, result);
    const int place = place_of(cut);
    if (place <= last)
      unsupported(cut.where(), "this order: a pattern, changes of case, a String, punctuation, Digits");
    last = place;
  }
}

Metaspace read_metaspace(const JsonPart& part) {
  const PrependScheme scheme = prepend_scheme(part);
  return {.prepend = scheme, .split = part.flag("split") || part.is_null("split")};
}

bool has_prefix_space(const JsonPart& byte_level) {
  return byte_level.flag("add_prefix_space") || byte_level.is_null("add_prefix_space");
}

bool uses_pattern(const JsonPart& byte_level) {
  return byte_level.flag("use_regex") || byte_level.is_null("use_regex");
}

ByteLevelText read_byte_level(const JsonPart& part) {
  allow_byte_level_keys(part);
  const bool with_pattern = uses_pattern(part);
  ByteLevelText text{.add_prefix_space = has_prefix_space(part)};
  if (with_pattern) text.pattern = WordPattern::kGpt2;
  return text;
}

WhitespaceSplit read_whitespace_split(const JsonPart& part) {
  part.allow({"type"});
  return {};
}

bool ends_with_byte_level(const JsonPart& sequence) {
  const std::size_t size = sequence.array("pretokenizers").size();
  return size > 0 && element(sequence, "pretokenizers", size - 1).type() == "ByteLevel";
}

/// Reads a known pattern followed by the byte alphabet, as in files converted from tiktoken.
ByteLevelText read_pattern_and_bytes(const JsonPart& part) {
  part.allow({"type", "pretokenizers"});
  core::require(part.array("pretokenizers").size() == 2, core::ErrorCode::kUnsupported,
                "{}: only a Split and a ByteLevel in sequence are supported", part.where());
  const JsonPart split = element(part, "pretokenizers", 0);
  const JsonPart bytes = element(part, "pretokenizers", 1);
  if (split.type() != "Split" || bytes.type() != "ByteLevel" || !has_regular_expression(split))
    unsupported(part.where(), "a sequence other than a Split by regular expression and ByteLevel");
  allow_split_keys(split);
  allow_byte_level_keys(bytes);
  if (split.text("behavior") != "Isolated" || split.flag("invert"))
    unsupported(split.where(), fmt::format("the behavior {}, or invert", Quoted{split.text("behavior")}));
  const nlohmann::json& expression = split.get("pattern")["Regex"];
  const auto known =
      expression.is_string() ? pattern_of_regular_expression(expression.get<std::string>()) : std::nullopt;
  if (!known) unsupported(split.where(), "this regular expression");
  if (has_prefix_space(bytes) || uses_pattern(bytes))
    unsupported(bytes.where(), "add_prefix_space or use_regex after a Split");
  return {.pattern = known};
}

}  // namespace

PreTokenizerPart read_pre_tokenizer(const JsonPart& part) {
  const std::string type = part.type();
  PreTokenizerPart result;
  if (type == "Split" || type == "Digits")
    read_cut(part, result);
  else if (type == "ByteLevel")
    result.byte_level = read_byte_level(part);
  else if (type == "Sequence" && ends_with_byte_level(part))
    result.byte_level = read_pattern_and_bytes(part);
  else if (type == "Sequence")
    read_cuts(part, result);
  else if (type == "Metaspace")
    result.words = read_metaspace(part);
  else if (type == "WhitespaceSplit")
    result.words = read_whitespace_split(part);
  else
    unsupported(part.where(), fmt::format("the pre-tokenizer {}", Quoted{type}));
  return result;
}

}  // namespace dragoman::tokenizer

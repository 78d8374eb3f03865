#include "common_parts.h"

#include "json/tokenizer_json.h"

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::tokenizer {

bool has_regular_expression(const JsonPart& part) {
  if (!part.get("pattern").is_object() || !part.get("pattern").contains("Regex")) return false;
  child(part, "pattern").allow({"Regex"});
  return true;
}

std::string string_pattern(const JsonPart& part) {
  const JsonPart pattern = child(part, "pattern");
  if (pattern.is_null("String")) unsupported(pattern.where(), "a pattern other than a String");
  pattern.allow({"String"});
  std::string text = pattern.text("String");
  core::require(!text.empty(), core::ErrorCode::kBadInput, "{}: the pattern is empty", pattern.where());
  return text;
}

void allow_byte_level_keys(const JsonPart& part) {
  part.allow({"type", "add_prefix_space", "trim_offsets", "use_regex"});
}

PrependScheme prepend_scheme(const JsonPart& part) {
  part.allow({"type", "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
  if (part.text("replacement") != kWordMark) unsupported(part.at("replacement"), "a mark other than U+2581");
  const std::string scheme = part.is_null("prepend_scheme") ? "always" : part.text("prepend_scheme");
  if (!part.is_null("add_prefix_space") && part.flag("add_prefix_space") != (scheme != "never"))
    unsupported(part.at("add_prefix_space"), "another value than prepend_scheme's");
  for (const auto& [known, name] : kPrependSchemes)
    if (scheme == name) return known;
  unsupported(part.at("prepend_scheme"), fmt::format("{}", core::Quoted{scheme}));
}

}  // namespace dragoman::tokenizer

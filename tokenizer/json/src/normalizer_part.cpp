#include "normalizer_part.h"

#include "base/base64.h"
#include "common_parts.h"
#include "json/tokenizer_json.h"
#include "normalizing/character_map.h"

#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::tokenizer {
namespace {

using StepKind = NormalizerStep::Kind;

std::string character_map(const JsonPart& part) {
  constexpr const char* kKey = "precompiled_charsmap";
  const auto map = from_base64(part.text(kKey));
  core::require(
      map.has_value(), core::ErrorCode::kBadInput,
      "{}: expected a character map in base64; the file is damaged, write it again with the program that made it",
      part.at(kKey));
  const CharacterMap undamaged(*map, part.at(kKey));  // throws if it is damaged
  return *map;
}

/// Returns one of the few steps that the format can express only as a regular expression.
NormalizerStep known_step(const JsonPart& part) {
  const nlohmann::json& expression = part.get("pattern")["Regex"];
  for (const StepKind kind : {StepKind::kTrimStart, StepKind::kTrimEnd, StepKind::kSqueeze})
    for (const std::string pattern : {" ", kWordMark}) {
      NormalizerStep step{kind, pattern, {}};
      if (expression == regular_expression(step) && part.text("content") == (kind == StepKind::kSqueeze ? pattern : ""))
        return step;
    }
  unsupported(part.where(), "this regular expression");
}

NormalizerStep read_step(const JsonPart& part) {
  static constexpr std::pair<const char*, StepKind> kPlain[] = {{"NFC", StepKind::kNfc},
                                                                {"NFD", StepKind::kNfd},
                                                                {"NFKC", StepKind::kNfkc},
                                                                {"NFKD", StepKind::kNfkd},
                                                                {"Lowercase", StepKind::kLowercase}};
  const std::string type = part.type();
  for (const auto& [name, kind] : kPlain)
    if (type == name) {
      part.allow({"type"});
      return {kind, {}, {}};
    }
  if (type == "Prepend") {
    part.allow({"type", "prepend"});
    return {StepKind::kPrepend, {}, part.text("prepend")};
  }
  if (type == "Precompiled") {
    part.allow({"type", "precompiled_charsmap"});
    return {StepKind::kPrecompiled, {}, character_map(part)};
  }
  if (type == "Replace") {
    part.allow({"type", "pattern", "content"});
    if (has_regular_expression(part)) return known_step(part);
    return {StepKind::kReplace, string_pattern(part), part.text("content")};
  }
  unsupported(part.where(), fmt::format("the normalizer {}", core::Quoted{type}));
}

void add_steps(const JsonPart& part, NormalizerSteps& steps) {
  if (part.type() != "Sequence") {
    steps.push_back(read_step(part));
    return;
  }
  part.allow({"type", "normalizers"});
  for (std::size_t i = 0; i < part.array("normalizers").size(); ++i) add_steps(element(part, "normalizers", i), steps);
}

}  // namespace

NormalizerSteps read_normalizer(const JsonPart& part) {
  NormalizerSteps steps;
  add_steps(part, steps);
  return steps;
}

}  // namespace dragoman::tokenizer

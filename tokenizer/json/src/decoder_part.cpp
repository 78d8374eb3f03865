#include "decoder_part.h"

#include "common_parts.h"
#include "definition/escapes.h"
#include "json/tokenizer_json.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

/// The last escape to reverse is the one of the character that starts all escapes.
void read_escape(const JsonPart& part, DecoderSteps& steps) {
  const Replacement escape{string_pattern(part), part.text("content")};
  const bool after_last = !steps.escapes.empty() && steps.escapes.back().content == kEscapeCharacter;
  const bool known = std::ranges::find(steps.escapes, escape.pattern, &Replacement::pattern) != steps.escapes.end();
  if (!is_escape(escape) || after_last || known || steps.drop_space_after_symbols || steps.strip)
    unsupported(part.where(), "this Replace after Fuse");
  steps.escapes.push_back(escape);
}

void read_replace_before_fuse(const JsonPart& part, DecoderSteps& steps) {
  part.allow({"type", "pattern", "content"});
  const std::string content = part.text("content");
  if (steps.byte_fallback) unsupported(part.where(), "Replace between ByteFallback and Fuse");
  steps.replacements.push_back({string_pattern(part), content});
  core::require(steps.replacements.size() <= kMaxSteps, core::ErrorCode::kBadInput, "{}: more than {} steps",
                part.where(), kMaxSteps);
}

void read_replace_after_fuse(const JsonPart& part, DecoderSteps& steps, const BpeDefinition& definition) {
  part.allow({"type", "pattern", "content"});
  const std::string content = part.text("content");
  if (!has_regular_expression(part)) return read_escape(part, steps);
  const JsonPart pattern = child(part, "pattern");
  const bool ours = pattern.get("Regex") == space_after_symbols_pattern(user_symbols(definition)) && content.empty();
  if (!ours || steps.strip) unsupported(part.where(), "this Replace after Fuse");
  steps.drop_space_after_symbols = true;
}

std::string read_suffix(const JsonPart& part) {
  part.allow({"type", "suffix"});
  std::string suffix = part.text("suffix");
  if (suffix.empty()) unsupported(part.at("suffix"), "an empty suffix");
  return suffix;
}

void read_strip(const JsonPart& part, DecoderPart& result) {
  part.allow({"type", "content", "start", "stop"});
  if (!result.fuses) unsupported(part.where(), "Strip before Fuse");
  if (result.steps.strip) unsupported(part.where(), "a second Strip");
  if (part.number("stop") != 0) unsupported(part.where(), "stripping at the end");
  const std::string character = part.text("content");
  core::require(!character.empty() && core::decode_utf8(character, 0).length == character.size(),
                core::ErrorCode::kBadInput, "{}: expected one character", part.at("content"));
  const auto most = static_cast<std::size_t>(part.number("start"));
  if (most > 0) result.steps.strip = Strip{.character = character, .most = most};
}

void add_decoder(const JsonPart& part, const BpeDefinition& definition, DecoderPart& result) {
  const std::string type = part.type();
  if (type == "Sequence") {
    part.allow({"type", "decoders"});
    for (std::size_t i = 0; i < part.array("decoders").size(); ++i)
      add_decoder(element(part, "decoders", i), definition, result);
  } else if (type == "Replace" && !result.fuses) {
    read_replace_before_fuse(part, result.steps);
  } else if (type == "Replace") {
    read_replace_after_fuse(part, result.steps, definition);
  } else if (type == "ByteFallback") {
    part.allow({"type"});
    if (result.fuses) unsupported(part.where(), "ByteFallback after Fuse");
    result.steps.byte_fallback = true;
  } else if (type == "Fuse") {
    part.allow({"type"});
    result.fuses = true;
  } else if (type == "Strip") {
    read_strip(part, result);
  } else if (type == "ByteLevel") {
    allow_byte_level_keys(part);
    if (result.byte_level) unsupported(part.where(), "a second 'ByteLevel'");
    result.byte_level = true;
  } else if (type == "Metaspace") {
    if (result.metaspace) unsupported(part.where(), "a second 'Metaspace'");
    result.metaspace = MetaspaceDecoder{.prepend = prepend_scheme(part)};
  } else if (type == "BPEDecoder") {
    if (!result.suffix.empty()) unsupported(part.where(), "a second 'BPEDecoder'");
    result.suffix = read_suffix(part);
  } else {
    unsupported(part.where(), fmt::format("the decoder {}", core::Quoted{type}));
  }
}

}  // namespace

DecoderPart read_decoder(const JsonPart& part, const BpeDefinition& definition) {
  DecoderPart result;
  add_decoder(part, definition, result);
  return result;
}

}  // namespace dragoman::tokenizer

#include "tokenizer_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dragoman::tokenizer {
namespace {

using Json = nlohmann::ordered_json;

std::string quote(const std::string& text) {
  return Json(text).dump();
}

Json replace_part(const std::string& pattern, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
}

Json normalizer_part(const NormalizerStep& step) {
  using Kind = NormalizerStep::Kind;
  switch (step.kind) {
    case Kind::kNfc:
      return {{"type", "NFC"}};
    case Kind::kNfd:
      return {{"type", "NFD"}};
    case Kind::kNfkc:
      return {{"type", "NFKC"}};
    case Kind::kNfkd:
      return {{"type", "NFKD"}};
    case Kind::kLowercase:
      return {{"type", "Lowercase"}};
    case Kind::kPrepend:
      return {{"type", "Prepend"}, {"prepend", step.content}};
    case Kind::kReplace:
      return replace_part(step.pattern, step.content);
  }
  return nullptr;
}

Json normalizer(const BpeDefinition& definition) {
  if (definition.normalizer.empty()) return nullptr;
  Json steps = Json::array();
  for (const NormalizerStep& step : definition.normalizer) steps.push_back(normalizer_part(step));
  return {{"type", "Sequence"}, {"normalizers", steps}};
}

Json pre_tokenizer(const BpeDefinition& definition) {
  if (definition.split_pattern.empty()) return nullptr;
  return {{"type", "Split"},
          {"pattern", {{"String", definition.split_pattern}}},
          {"behavior", "MergedWithNext"},
          {"invert", false}};
}

Json decoder(const BpeDefinition& definition) {
  const DecoderDefinition& d = definition.decoder;
  Json steps = Json::array();
  for (const Replacement& r : d.replacements) steps.push_back(replace_part(r.pattern, r.content));
  if (d.byte_fallback) steps.push_back({{"type", "ByteFallback"}});
  steps.push_back({{"type", "Fuse"}});
  if (d.drop_space_after_symbols)
    steps.push_back({{"type", "Replace"},
                     {"pattern", {{"Regex", space_after_symbols_pattern(user_symbols(definition))}}},
                     {"content", ""}});
  if (d.strip_count > 0)
    steps.push_back({{"type", "Strip"}, {"content", d.strip}, {"start", d.strip_count}, {"stop", 0}});
  return {{"type", "Sequence"}, {"decoders", steps}};
}

/// Items on lines of their own, so that two vocabularies can be compared with line tools.
void write_lines(std::string& out, const std::vector<std::string>& items, std::string_view indent) {
  for (std::size_t i = 0; i < items.size(); ++i)
    out += fmt::format("{}{}{}\n", indent, items[i], i + 1 < items.size() ? "," : "");
}

std::vector<std::string> added_token_lines(const BpeDefinition& definition) {
  std::vector<std::string> lines;
  for (const AddedToken& token : definition.added_tokens)
    lines.push_back(Json{
        {"id", token.id},
        {"content", definition.pieces[static_cast<std::size_t>(token.id)]},
        {"single_word", false},
        {"lstrip", false},
        {"rstrip", false},
        {"normalized", false},
        {"special",
         token.special}}.dump());
  return lines;
}

std::vector<std::string> vocabulary_lines(const BpeDefinition& definition) {
  std::vector<bool> listed(definition.pieces.size(), true);
  for (const AddedToken& token : definition.added_tokens)
    listed[static_cast<std::size_t>(token.id)] = token.in_vocabulary;
  std::vector<std::string> lines;
  for (std::size_t id = 0; id < definition.pieces.size(); ++id)
    if (listed[id]) lines.push_back(fmt::format("{}: {}", quote(definition.pieces[id]), id));
  return lines;
}

std::vector<std::string> merge_lines(const BpeDefinition& definition) {
  std::vector<std::string> lines;
  for (const Merge& merge : definition.merges)
    lines.push_back(fmt::format("[{}, {}]", quote(definition.pieces[static_cast<std::size_t>(merge.left)]),
                                quote(definition.pieces[static_cast<std::size_t>(merge.right)])));
  return lines;
}

}  // namespace

std::string space_after_symbols_pattern(const std::vector<std::string>& symbols) {
  constexpr std::string_view kMeta = R"(\^$.|?*+()[]{})";
  std::string pattern = "(?<=";
  for (const std::string& symbol : symbols) {
    if (pattern.back() != '=') pattern += '|';
    for (const char c : symbol) {
      if (kMeta.find(c) != std::string_view::npos) pattern += '\\';
      pattern += c;
    }
  }
  return pattern + ") ";
}

std::vector<std::string> user_symbols(const BpeDefinition& definition) {
  std::vector<std::string> symbols;
  for (const AddedToken& token : definition.added_tokens)
    if (!token.special) symbols.push_back(definition.pieces[static_cast<std::size_t>(token.id)]);
  return symbols;
}

std::string write_tokenizer_json(const BpeDefinition& definition) {
  const Json unknown =
      definition.unknown ? Json(definition.pieces[static_cast<std::size_t>(*definition.unknown)]) : Json(nullptr);
  std::string out =
      "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": [\n";
  write_lines(out, added_token_lines(definition), "    ");
  out += fmt::format(
      "  ],\n  \"normalizer\": {},\n  \"pre_tokenizer\": {},\n  \"post_processor\": {},\n  \"decoder\": {},\n",
      normalizer(definition).dump(), pre_tokenizer(definition).dump(),
      definition.post_processor.empty() ? "null" : definition.post_processor, decoder(definition).dump());
  out += "  \"model\": {\n    \"type\": \"BPE\",\n    \"dropout\": null,\n";
  out += fmt::format(
      "    \"unk_token\": {},\n    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null,\n    "
      "\"fuse_unk\": {},\n"
      "    \"byte_fallback\": {},\n    \"ignore_merges\": {},\n    \"vocab\": {{\n",
      unknown.dump(), definition.fuse_unknown, definition.byte_fallback, definition.ignore_merges);
  write_lines(out, vocabulary_lines(definition), "      ");
  out += "    },\n    \"merges\": [\n";
  write_lines(out, merge_lines(definition), "      ");
  return out + "    ]\n  }\n}\n";
}

}  // namespace dragoman::tokenizer

#include "base/base64.h"
#include "json/tokenizer_json.h"
#include "merging/merge_word.h"
#include "pre_tokenizing/inner_splits.h"
#include "pre_tokenizing/named_patterns.h"
#include "pre_tokenizing/spaced_words.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>

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
    case Kind::kTrimStart:
    case Kind::kTrimEnd:
    case Kind::kSqueeze:
      return {{"type", "Replace"},
              {"pattern", {{"Regex", regular_expression(step)}}},
              {"content", step.kind == Kind::kSqueeze ? step.pattern : ""}};
    case Kind::kPrecompiled:
      return {{"type", "Precompiled"}, {"precompiled_charsmap", to_base64(step.content)}};
  }
  return nullptr;
}

Json normalizer(const BpeDefinition& definition) {
  if (definition.normalizer.empty()) return nullptr;
  Json steps = Json::array();
  for (const NormalizerStep& step : definition.normalizer) steps.push_back(normalizer_part(step));
  return {{"type", "Sequence"}, {"normalizers", steps}};
}

Json byte_level_part(bool add_prefix_space, bool with_pattern) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", with_pattern}};
}

Json isolating_split(std::string_view expression) {
  return {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}};
}

Json byte_level_pre_tokenizer(const BpeDefinition& definition) {
  if (definition.split == WordSplit::kGpt2 || definition.split == WordSplit::kBefore)
    return byte_level_part(definition.add_prefix_space, definition.split == WordSplit::kGpt2);
  const Json split = isolating_split(regular_expression(definition.split));
  return {{"type", "Sequence"}, {"pretokenizers", {split, byte_level_part(false, false)}}};
}

Json metaspace_part(PrependScheme scheme, bool splits) {
  std::string_view name;
  for (const auto& [known, its_name] : kPrependSchemes)
    if (known == scheme) name = its_name;
  return {{"type", "Metaspace"}, {"replacement", kWordMark}, {"prepend_scheme", name}, {"split", splits}};
}

Json pre_tokenizer(const BpeDefinition& definition) {
  if (definition.metaspace) return metaspace_part(*definition.metaspace, !definition.split_pattern.empty());
  if (definition.byte_level) return byte_level_pre_tokenizer(definition);
  if (definition.split == WordSplit::kWhiteSpace) return {{"type", "WhitespaceSplit"}};
  Json steps = Json::array();
  if (!definition.protected_pattern.empty()) steps.push_back(isolating_split(definition.protected_pattern));
  if (definition.split_case) steps.push_back(isolating_split(kCasePattern));
  if (!definition.split_pattern.empty())
    steps.push_back({{"type", "Split"},
                     {"pattern", {{"String", definition.split_pattern}}},
                     {"behavior", definition.split == WordSplit::kBetween ? "Removed" : "MergedWithNext"},
                     {"invert", false}});
  if (definition.split_punctuation) steps.push_back(isolating_split(kPunctuationPattern));
  if (definition.split_digits) steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
  if (steps.size() < 2) return steps.empty() ? nullptr : steps.front();
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

Json decoder(const BpeDefinition& definition) {
  const DecoderDefinition& d = definition.decoder;
  if (d.byte_level) return byte_level_part(definition.add_prefix_space, true);
  if (!d.word_suffix.empty()) return {{"type", "BPEDecoder"}, {"suffix", d.word_suffix}};
  if (d.metaspace) return metaspace_part(*d.metaspace, true);
  Json steps = Json::array();
  for (const Replacement& r : d.replacements) steps.push_back(replace_part(r.pattern, r.content));
  if (d.byte_fallback) steps.push_back({{"type", "ByteFallback"}});
  steps.push_back({{"type", "Fuse"}});
  for (const Replacement& escape : d.escapes) steps.push_back(replace_part(escape.pattern, escape.content));
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

/// Programs number tokens that the vocabulary does not list by counting on from it.
void check_added_tokens_follow(const BpeDefinition& d) {
  const auto listed = static_cast<std::size_t>(std::ranges::count(d.added_tokens, true, &AddedToken::in_vocabulary));
  const std::size_t size = d.pieces.size() - (d.added_tokens.size() - listed);
  for (const AddedToken& token : d.added_tokens)
    core::require(token.in_vocabulary || static_cast<std::size_t>(token.id) >= size, core::ErrorCode::kUnsupported,
                  "tokenizer.json cannot represent this tokenizer: the token '{}' is no piece of a text, but has an "
                  "id among those of pieces",
                  d.pieces[static_cast<std::size_t>(token.id)]);
}

std::string_view why_not_steps(const SentencePieceNormalization& normalization) {
  if (!normalization.character_map.empty())
    return "it normalises with a character map, which the library tokenizers applies to clusters of characters";
  if (normalization.space_as_suffix) return "it marks the ends of words, and the end of a text even without a space";
  if (!normalization.escape_spaces) return "it has pieces with spaces";
  return "it has user-defined symbols behind which words go on, where the library tokenizers begins a text with its "
         "own mark, and without extra spaces";
}

void check_writable(const BpeDefinition& d) {
  const auto check = [](bool condition, std::string_view reason) {
    core::require(condition, core::ErrorCode::kUnsupported, "tokenizer.json cannot represent this tokenizer: {}",
                  reason);
  };
  check(d.end_of_word != EndOfWord::kSeparate, "the end of a word is a symbol of its own (codes of version 0.1)");
  check(!d.merge_in_rounds || !rounds_matter(d.merges, d.pieces.size()),
        "its merges stand in an order in which subword-nmt gives other pieces than everybody else");
  check(d.glossaries.empty(), "it has glossaries");
  check(d.unused.empty(), "it has unused pieces, which merges make on the way to others and which fall apart again");
  check(d.expansions.empty(), "it has a restricted vocabulary");
  check(d.continuation_mark.empty() || d.continuation_mark == "@@", "its separator is not @@");
  if (d.sentencepiece) check(false, why_not_steps(*d.sentencepiece));
  check_added_tokens_follow(d);
  check(!cuts_inside_words(d) || d.split != WordSplit::kWhiteSpace, "it cuts at white space and inside words");
  check(!d.metaspace || (!cuts_inside_words(d) && !d.byte_level && d.split == WordSplit::kBefore &&
                         (d.split_pattern.empty() || d.split_pattern == kWordMark)),
        "it cuts words in a way that goes with no Metaspace");
  const bool has_pattern =
      d.split != WordSplit::kBefore && d.split != WordSplit::kBetween && d.split != WordSplit::kWhiteSpace;
  check(d.byte_level == has_pattern || (d.byte_level && d.split == WordSplit::kBefore && d.split_pattern.empty()),
        "it cuts words in a way that goes with another alphabet");
}

}  // namespace

std::string regular_expression(const NormalizerStep& step) {
  using Kind = NormalizerStep::Kind;
  if (step.kind == Kind::kTrimStart) return "\\A" + step.pattern + "+";
  if (step.kind == Kind::kTrimEnd) return step.pattern + "+\\z";
  return step.kind == Kind::kSqueeze ? step.pattern + "{2,}" : std::string();
}

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
  check_writable(definition);
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
      "    \"unk_token\": {},\n    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": {},\n    "
      "\"fuse_unk\": {},\n"
      "    \"byte_fallback\": {},\n    \"ignore_merges\": {},\n    \"vocab\": {{\n",
      unknown.dump(), definition.end_of_word_suffix.empty() ? "null" : quote(definition.end_of_word_suffix),
      definition.fuse_unknown, definition.byte_fallback, definition.ignore_merges);
  write_lines(out, vocabulary_lines(definition), "      ");
  out += "    },\n    \"merges\": [\n";
  write_lines(out, merge_lines(definition), "      ");
  return out + "    ]\n  }\n}\n";
}

}  // namespace dragoman::tokenizer

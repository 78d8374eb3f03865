#include "base/base64.h"
#include "json/tokenizer_json.h"
#include "merging/merge_word.h"
#include "pre_tokenizing/inner_splits.h"
#include "pre_tokenizing/named_patterns.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Returns the text as a string of JSON. Most pieces need no escapes; a tree for each would take most of the time of
/// writing.
std::string quote(const std::string& text) {
  const auto is_plain = [](unsigned char c) { return c >= ' ' && c != '"' && c != '\\'; };
  if (std::ranges::all_of(text, is_plain) && core::find_invalid_utf8(text) == std::string::npos)
    return '"' + text + '"';
  return OrderedJson(text).dump();
}

OrderedJson replace_part(const std::string& pattern, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
}

OrderedJson normalizer_part(const NormalizerStep& step) {
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

OrderedJson normalizer(const BpeDefinition& definition) {
  if (definition.normalizer().empty()) return nullptr;
  OrderedJson steps = OrderedJson::array();
  for (const NormalizerStep& step : definition.normalizer()) steps.push_back(normalizer_part(step));
  return {{"type", "Sequence"}, {"normalizers", steps}};
}

OrderedJson byte_level_part(bool add_prefix_space, bool with_pattern) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", true},
          {"use_regex", with_pattern}};
}

OrderedJson isolating_split(std::string_view expression) {
  return {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}};
}

OrderedJson string_split(std::string_view pattern, std::string_view behavior) {
  return {{"type", "Split"}, {"pattern", {{"String", pattern}}}, {"behavior", behavior}, {"invert", false}};
}

OrderedJson metaspace_part(PrependScheme scheme, bool splits) {
  std::string_view name;
  for (const auto& [known, its_name] : kPrependSchemes)
    if (known == scheme) name = its_name;
  return {{"type", "Metaspace"}, {"replacement", kWordMark}, {"prepend_scheme", name}, {"split", splits}};
}

struct WritePreTokenizer {
  OrderedJson operator()(const SplitBefore& split) const {
    OrderedJson steps = OrderedJson::array();
    if (!split.inner.protected_pattern.empty()) steps.push_back(isolating_split(split.inner.protected_pattern));
    if (split.inner.letter_case) steps.push_back(isolating_split(kCasePattern));
    if (!split.mark.empty()) steps.push_back(string_split(split.mark, "MergedWithNext"));
    if (split.inner.punctuation) steps.push_back(isolating_split(kPunctuationPattern));
    if (split.inner.digits) steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
    if (steps.size() < 2) return steps.empty() ? nullptr : steps.front();
    return {{"type", "Sequence"}, {"pretokenizers", steps}};
  }
  OrderedJson operator()(const SplitBetween& split) const { return string_split(split.separator, "Removed"); }
  OrderedJson operator()(const WhitespaceSplit&) const { return {{"type", "WhitespaceSplit"}}; }
  OrderedJson operator()(const Metaspace& metaspace) const {
    return metaspace_part(metaspace.prepend, metaspace.split);
  }

  OrderedJson operator()(const CharacterText& text) const { return std::visit(*this, text.pre_tokenizer); }
  OrderedJson operator()(const SuffixedText& text) const {
    return text.between_white_space ? (*this)(WhitespaceSplit()) : (*this)(SplitBetween{.separator = " "});
  }
  OrderedJson operator()(const ByteLevelText& text) const {
    if (!text.pattern || text.pattern == WordPattern::kGpt2)
      return byte_level_part(text.add_prefix_space, text.pattern.has_value());
    const OrderedJson split = isolating_split(regular_expression(*text.pattern));
    return {{"type", "Sequence"}, {"pretokenizers", {split, byte_level_part(false, false)}}};
  }
  OrderedJson operator()(const SentencePieceText&) const { return nullptr; }
};

OrderedJson steps_part(const DecoderSteps& decoder, const BpeDefinition& definition) {
  OrderedJson steps = OrderedJson::array();
  for (const Replacement& r : decoder.replacements) steps.push_back(replace_part(r.pattern, r.content));
  if (decoder.byte_fallback) steps.push_back({{"type", "ByteFallback"}});
  steps.push_back({{"type", "Fuse"}});
  for (const Replacement& escape : decoder.escapes) steps.push_back(replace_part(escape.pattern, escape.content));
  if (decoder.drop_space_after_symbols)
    steps.push_back({{"type", "Replace"},
                     {"pattern", {{"Regex", space_after_symbols_pattern(user_symbols(definition))}}},
                     {"content", ""}});
  if (const auto& strip = decoder.strip)
    steps.push_back({{"type", "Strip"}, {"content", strip->character}, {"start", strip->most}, {"stop", 0}});
  return {{"type", "Sequence"}, {"decoders", steps}};
}

struct WriteDecoder {
  const BpeDefinition& definition;

  OrderedJson operator()(const CharacterText& text) const { return std::visit(*this, text.decoder); }
  OrderedJson operator()(const DecoderSteps& steps) const { return steps_part(steps, definition); }
  OrderedJson operator()(const MetaspaceDecoder& metaspace) const { return metaspace_part(metaspace.prepend, true); }
  OrderedJson operator()(const SuffixedText& text) const { return {{"type", "BPEDecoder"}, {"suffix", text.suffix}}; }
  OrderedJson operator()(const ByteLevelText& text) const { return byte_level_part(text.add_prefix_space, true); }
  OrderedJson operator()(const SentencePieceText&) const { return nullptr; }
};

/// Writes each item on a separate line, so that line tools can compare two vocabularies.
void write_lines(std::string& out, const std::vector<std::string>& items, std::string_view indent) {
  for (std::size_t i = 0; i < items.size(); ++i)
    out += fmt::format("{}{}{}\n", indent, items[i], i + 1 < items.size() ? "," : "");
}

std::vector<std::string> added_token_lines(const BpeDefinition& definition) {
  std::vector<std::string> lines;
  for (const AddedToken& token : definition.added_tokens)
    lines.push_back(OrderedJson{
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

/// Programs number the tokens that the vocabulary does not list consecutively after it.
void check_added_tokens_follow(const BpeDefinition& d) {
  const auto listed = static_cast<std::size_t>(std::ranges::count(d.added_tokens, true, &AddedToken::in_vocabulary));
  const std::size_t size = d.pieces.size() - (d.added_tokens.size() - listed);
  for (const AddedToken& token : d.added_tokens)
    core::require(token.in_vocabulary || static_cast<std::size_t>(token.id) >= size, core::ErrorCode::kUnsupported,
                  "tokenizer.json cannot represent this tokenizer: the token '{}' is no piece of a text, but has an "
                  "id among those of pieces",
                  d.pieces[static_cast<std::size_t>(token.id)]);
}

std::string_view why_not_steps(const SentencePieceNormalization& normalization, bool has_symbols) {
  if (normalization.space_as_suffix) return "it marks the ends of words, and the end of a text even without a space";
  if (!normalization.escape_spaces) return "it has pieces with spaces";
  if (!normalization.character_map.empty() && !has_symbols)
    return "its character map normalises the whole text, and there one cluster of letters and marks after the other, "
           "so ids could differ";
  return "it has user-defined symbols behind which words go on, where the library tokenizers begins a text with its "
         "own mark, and without extra spaces";
}

void check_writable(const BpeDefinition& d) {
  const auto check = [](bool condition, std::string_view reason) {
    core::require(condition, core::ErrorCode::kUnsupported, "tokenizer.json cannot represent this tokenizer: {}",
                  reason);
  };
  const Codes* codes = d.codes();
  check(codes == nullptr || !codes->separate_suffix, "the end of a word is a symbol of its own (codes of version 0.1)");
  check(codes == nullptr || !rounds_matter(d.merges, d.pieces.size()),
        "its merges stand in an order in which subword-nmt gives other pieces than everybody else");
  check(d.unused.empty(), "it has unused pieces, which merges make on the way to others and which fall apart again");
  check(codes == nullptr || !codes->expansions, "it has a restricted vocabulary");
  check(codes == nullptr || codes->separator == "@@", "its separator is not @@");
  const bool has_symbols = std::ranges::any_of(d.added_tokens, [](const AddedToken& token) { return !token.special; });
  if (const auto* text = std::get_if<SentencePieceText>(&d.text))
    check(false, why_not_steps(text->normalization, has_symbols));
  if (const auto* text = std::get_if<ByteLevelText>(&d.text))
    check(!text->add_prefix_space || !text->pattern || text->pattern == WordPattern::kGpt2,
          "it puts a space in front of a text and cuts it by another pattern than GPT-2's");
  check_added_tokens_follow(d);
}

/// Returns the file up to and including the brace that opens the model.
std::string parts_around_model(const BpeDefinition& definition) {
  std::string out =
      "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": [\n";
  write_lines(out, added_token_lines(definition), "    ");
  out += fmt::format(
      "  ],\n  \"normalizer\": {},\n  \"pre_tokenizer\": {},\n  \"post_processor\": {},\n  \"decoder\": {},\n",
      normalizer(definition).dump(), std::visit(WritePreTokenizer(), definition.text).dump(),
      definition.post_processor.empty() ? "null" : definition.post_processor,
      std::visit(WriteDecoder{definition}, definition.text).dump());
  return out + "  \"model\": {\n";
}

std::string merges_model(const BpeDefinition& definition) {
  const auto* suffixed = std::get_if<SuffixedText>(&definition.text);
  const OrderedJson unknown = definition.unknown
                                  ? OrderedJson(definition.pieces[static_cast<std::size_t>(*definition.unknown)])
                                  : OrderedJson(nullptr);
  std::string out = fmt::format(
      "    \"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": {},\n    "
      "\"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": {},\n    \"fuse_unk\": {},\n"
      "    \"byte_fallback\": {},\n    \"ignore_merges\": {},\n    \"vocab\": {{\n",
      unknown.dump(), suffixed == nullptr ? "null" : quote(suffixed->suffix), definition.fuse_unknown,
      definition.byte_fallback(), definition.ignore_merges);
  write_lines(out, vocabulary_lines(definition), "      ");
  out += "    },\n    \"merges\": [\n";
  write_lines(out, merge_lines(definition), "      ");
  return out + "    ]\n";
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
  return fmt::format("{}{}  }}\n}}\n", parts_around_model(definition), merges_model(definition));
}

std::string write_unigram_json(const BpeDefinition& parts, const UnigramOfWords& unigram) {
  check_writable(parts);
  std::string out = parts_around_model(parts);
  out += fmt::format("    \"type\": \"Unigram\",\n    \"unk_id\": {},\n    \"byte_fallback\": {},\n    \"vocab\": [\n",
                     unigram.unknown ? std::to_string(*unigram.unknown) : "null", unigram.byte_fallback);
  std::vector<std::string> lines;
  for (std::size_t id = 0; id < parts.pieces.size(); ++id)
    lines.push_back(fmt::format("[{}, {}]", quote(parts.pieces[id]), OrderedJson(unigram.scores[id]).dump()));
  write_lines(out, lines, "      ");
  return out + "    ]\n  }\n}\n";
}

}  // namespace dragoman::tokenizer

#include "composed_part.h"

#include "common_parts.h"
#include "json/tokenizer_json.h"
#include "model_part.h"
#include "normalizer_part.h"
#include "pieces_part.h"
#include "pre_tokenizing/named_patterns.h"
#include "regex/matcher.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;
using CutKind = PreTokenizerStep::Kind;
using DecodeKind = DecoderStep::Kind;
using TextKind = TextStep::Kind;

bool flag_or(const JsonPart& part, const char* key, bool otherwise) {
  return part.is_null(key) ? otherwise : part.flag(key);
}

/// Validates the expression here, where its place in the file is known.
std::string checked_expression(const JsonPart& part) {
  std::string expression = child(part, "pattern").text("Regex");
  try {
    const Matcher readable(expression);
  } catch (const core::Error& error) {
    core::fail(error.code(), "{}: {}", part.at("pattern"), error.what());
  }
  return expression;
}

std::string one_character(const JsonPart& part, const char* key) {
  std::string text = part.text(key);
  require(!text.empty() && core::decode_utf8(text, 0).length == text.size(), ErrorCode::kBadInput,
          "{}: expected one character", part.at(key));
  return text;
}

// ---- normalizer

void add_bert_steps(const JsonPart& part, ComposedNormalizer& steps) {
  part.allow({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  const bool lowercase = flag_or(part, "lowercase", true);
  if (flag_or(part, "clean_text", true)) steps.emplace_back(TextStep{TextKind::kCleanText});
  if (flag_or(part, "handle_chinese_chars", true)) steps.emplace_back(TextStep{TextKind::kSpaceChinese});
  if (flag_or(part, "strip_accents", lowercase)) {
    steps.emplace_back(NormalizerStep{NormalizerStep::Kind::kNfd, {}, {}});
    steps.emplace_back(TextStep{TextKind::kStripNonspacing});
  }
  if (lowercase) steps.emplace_back(NormalizerStep{NormalizerStep::Kind::kLowercase, {}, {}});
}

/// Returns false if it is a step that all layouts support.
bool add_other_step(const JsonPart& part, ComposedNormalizer& steps) {
  static constexpr std::pair<const char*, TextKind> kPlain[] = {
      {"StripAccents", TextKind::kStripAccents}, {"Nmt", TextKind::kNmt}, {"ByteLevel", TextKind::kByteAlphabet}};
  const std::string type = part.type();
  for (const auto& [name, kind] : kPlain)
    if (type == name) {
      part.allow({"type"});
      steps.emplace_back(TextStep{kind});
      return true;
    }
  if (type == "Strip") {
    part.allow({"type", "strip_left", "strip_right"});
    if (part.flag("strip_left")) steps.emplace_back(TextStep{TextKind::kStripStart});
    if (part.flag("strip_right")) steps.emplace_back(TextStep{TextKind::kStripEnd});
  } else if (type == "BertNormalizer") {
    add_bert_steps(part, steps);
  } else if (type == "Replace" && has_regular_expression(part)) {
    part.allow({"type", "pattern", "content"});
    steps.emplace_back(TextStep{TextKind::kReplaceMatches, checked_expression(part), part.text("content")});
  } else {
    return false;
  }
  return true;
}

void add_normalizer(const JsonPart& part, ComposedNormalizer& steps) {
  if (part.type() == "Sequence") {
    part.allow({"type", "normalizers"});
    for (std::size_t i = 0; i < part.array("normalizers").size(); ++i)
      add_normalizer(element(part, "normalizers", i), steps);
  } else if (!add_other_step(part, steps)) {
    for (NormalizerStep& step : read_normalizer(part)) steps.emplace_back(std::move(step));
  }
  require(steps.size() <= kMaxSteps, ErrorCode::kBadInput, "{}: more than {} steps", part.where(), kMaxSteps);
}

// ---- pre-tokenizer

using Cuts = std::vector<PreTokenizerStep>;

SplitBehavior behavior_of(const JsonPart& part, std::string_view otherwise) {
  static constexpr std::pair<std::string_view, SplitBehavior> kBehaviors[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  const std::string wanted = part.is_null("behavior") ? std::string(otherwise) : part.text("behavior");
  for (const auto& [name, behavior] : kBehaviors)
    if (name == wanted) return behavior;
  unsupported(part.at("behavior"), fmt::format("{}", Quoted{wanted}));
}

PreTokenizerStep read_any_split(const JsonPart& part) {
  part.allow({"type", "pattern", "behavior", "invert"});
  PreTokenizerStep step{
      .kind = CutKind::kSplitPattern, .behavior = behavior_of(part, ""), .invert = part.flag("invert")};
  if (has_regular_expression(part)) {
    step.text = checked_expression(part);
  } else {
    step.kind = CutKind::kSplitText;
    step.text = string_pattern(part);
  }
  return step;
}

PrependScheme any_prepend_scheme(const JsonPart& part) {
  part.allow({"type", "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
  const std::string scheme = part.is_null("prepend_scheme") ? "always" : part.text("prepend_scheme");
  if (!part.is_null("add_prefix_space") && !part.flag("add_prefix_space") && scheme != "never")
    unsupported(part.at("add_prefix_space"), "false with another prepend_scheme than never");
  for (const auto& [known, name] : kPrependSchemes)
    if (scheme == name) return known;
  unsupported(part.at("prepend_scheme"), fmt::format("{}", Quoted{scheme}));
}

void add_byte_level(const JsonPart& part, Cuts& cuts) {
  allow_byte_level_keys(part);
  if (flag_or(part, "add_prefix_space", true)) cuts.push_back({.kind = CutKind::kPrefixSpace});
  if (flag_or(part, "use_regex", true))
    cuts.push_back({.kind = CutKind::kSplitPattern, .text = std::string(regular_expression(WordPattern::kGpt2))});
  cuts.push_back({.kind = CutKind::kByteAlphabet});
}

void add_cut(const JsonPart& part, Cuts& cuts) {
  const std::string type = part.type();
  if (type == "Split") {
    cuts.push_back(read_any_split(part));
  } else if (type == "ByteLevel") {
    add_byte_level(part, cuts);
  } else if (type == "Metaspace") {
    const PrependScheme scheme = any_prepend_scheme(part);
    cuts.push_back({.kind = CutKind::kMetaspace,
                    .text = one_character(part, "replacement"),
                    .prepend = scheme,
                    .split = flag_or(part, "split", true)});
  } else if (type == "BertPreTokenizer") {
    part.allow({"type"});
    cuts.push_back({.kind = CutKind::kSplitWhitespace});
    cuts.push_back({.kind = CutKind::kSplitPunctuation});
  } else if (type == "Whitespace" || type == "WhitespaceSplit") {
    part.allow({"type"});
    cuts.push_back({.kind = type == "Whitespace" ? CutKind::kWordsAndSymbols : CutKind::kSplitWhitespace});
  } else if (type == "Punctuation") {
    part.allow({"type", "behavior"});
    cuts.push_back({.kind = CutKind::kSplitPunctuation, .behavior = behavior_of(part, "Isolated")});
  } else if (type == "Digits") {
    part.allow({"type", "individual_digits"});
    cuts.push_back(
        {.kind = CutKind::kSplitNumbers,
         .behavior = part.flag("individual_digits") ? SplitBehavior::kIsolated : SplitBehavior::kContiguous});
  } else if (type == "CharDelimiterSplit") {
    part.allow({"type", "delimiter"});
    cuts.push_back(
        {.kind = CutKind::kSplitText, .text = one_character(part, "delimiter"), .behavior = SplitBehavior::kRemoved});
  } else {
    unsupported(part.where(), fmt::format("the pre-tokenizer {}", Quoted{type}));
  }
}

void add_cuts(const JsonPart& part, Cuts& cuts) {
  if (part.type() == "Sequence") {
    part.allow({"type", "pretokenizers"});
    for (std::size_t i = 0; i < part.array("pretokenizers").size(); ++i)
      add_cuts(element(part, "pretokenizers", i), cuts);
  } else {
    add_cut(part, cuts);
  }
  require(cuts.size() <= kMaxSteps, ErrorCode::kBadInput, "{}: more than {} steps", part.where(), kMaxSteps);
}

// ---- decoder

using DecoderList = std::vector<DecoderStep>;

DecoderStep read_decoder_replace(const JsonPart& part) {
  part.allow({"type", "pattern", "content"});
  if (has_regular_expression(part))
    return {.kind = DecodeKind::kReplaceMatches, .pattern = checked_expression(part), .content = part.text("content")};
  return {.kind = DecodeKind::kReplace, .pattern = string_pattern(part), .content = part.text("content")};
}

DecoderStep read_decoder_step(const JsonPart& part) {
  const std::string type = part.type();
  if (type == "Replace") return read_decoder_replace(part);
  if (type == "ByteFallback" || type == "Fuse") {
    part.allow({"type"});
    return {.kind = type == "Fuse" ? DecodeKind::kFuse : DecodeKind::kByteFallback};
  }
  if (type == "Strip") {
    part.allow({"type", "content", "start", "stop"});
    return {.kind = DecodeKind::kStrip,
            .content = one_character(part, "content"),
            .start = static_cast<std::size_t>(part.number("start")),
            .stop = static_cast<std::size_t>(part.number("stop"))};
  }
  if (type == "ByteLevel") {
    allow_byte_level_keys(part);
    return {.kind = DecodeKind::kByteLevel};
  }
  if (type == "Metaspace") {
    const bool prepends = any_prepend_scheme(part) != PrependScheme::kNever;
    return {.kind = DecodeKind::kMetaspace, .pattern = one_character(part, "replacement"), .flag = prepends};
  }
  if (type == "WordPiece") {
    part.allow({"type", "prefix", "cleanup"});
    return {.kind = DecodeKind::kWordPiece, .pattern = part.text("prefix"), .flag = flag_or(part, "cleanup", true)};
  }
  if (type == "BPEDecoder") {
    part.allow({"type", "suffix"});
    return {.kind = DecodeKind::kEndOfWord, .pattern = part.text("suffix")};
  }
  unsupported(part.where(), fmt::format("the decoder {}", Quoted{type}));
}

void add_decoder_steps(const JsonPart& part, DecoderList& steps) {
  if (part.type() == "Sequence") {
    part.allow({"type", "decoders"});
    for (std::size_t i = 0; i < part.array("decoders").size(); ++i)
      add_decoder_steps(element(part, "decoders", i), steps);
  } else {
    steps.push_back(read_decoder_step(part));
  }
  require(steps.size() <= kMaxSteps, ErrorCode::kBadInput, "{}: more than {} steps", part.where(), kMaxSteps);
}

// ---- model

void check_any_post_processor(const JsonPart& part) {
  static constexpr std::string_view kKnown[] = {"TemplateProcessing", "BertProcessing", "RobertaProcessing",
                                                "ByteLevel"};
  const std::string type = part.type();
  if (type == "Sequence") {
    for (std::size_t i = 0; i < part.array("processors").size(); ++i)
      check_any_post_processor(element(part, "processors", i));
    return;
  }
  if (std::find(std::begin(kKnown), std::end(kKnown), type) == std::end(kKnown))
    unsupported(part.where(), fmt::format("the post-processor {}", Quoted{type}));
}

std::optional<std::int32_t> unknown_piece(const JsonPart& model, const ListedPieces& listed) {
  if (model.is_null("unk_token")) return std::nullopt;
  const std::int32_t id = listed.id_of(model.text("unk_token"));
  return id < 0 ? std::nullopt : std::optional(id);
}

UnigramOfWords read_unigram_model(const JsonPart& model, const TokenizerDocument& document) {
  model.allow({"type", "unk_id", "vocab", "byte_fallback"});
  model.array("vocab");  // throws if it is not a list
  UnigramOfWords unigram{.byte_fallback = model.flag("byte_fallback")};
  require(!document.scored.empty(), ErrorCode::kBadInput, "{}: no pieces", model.at("vocab"));
  for (const auto& [piece, score] : document.scored) {
    require(std::isfinite(score), ErrorCode::kBadInput, "{}: the score of {} is not a number", model.at("vocab"),
            Quoted{piece});
    unigram.scores.push_back(score);
  }
  if (model.is_null("unk_id")) return unigram;
  unigram.unknown = model.number("unk_id");
  require(static_cast<std::size_t>(*unigram.unknown) < unigram.scores.size(), ErrorCode::kBadInput,
          "{}: there are {} pieces", model.at("unk_id"), unigram.scores.size());
  return unigram;
}

void require_vocabulary(const JsonPart& model) {
  require(model.get("vocab").is_object(), ErrorCode::kBadInput, "{}: expected an object, not {}", model.at("vocab"),
          model.get("vocab").type_name());
}

WordPieces read_word_piece_model(const JsonPart& model, const ListedPieces& listed) {
  model.allow({"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
  require_vocabulary(model);
  const auto unknown = unknown_piece(model, listed);
  require(unknown.has_value(), ErrorCode::kBadInput, "{}: not in the vocabulary", model.at("unk_token"));
  WordPieces pieces{.unknown = *unknown};
  if (!model.is_null("continuing_subword_prefix")) pieces.prefix = model.text("continuing_subword_prefix");
  if (!model.is_null("max_input_chars_per_word"))
    pieces.longest_word = static_cast<std::size_t>(model.number("max_input_chars_per_word"));
  return pieces;
}

/// Words consist of characters already, including characters of a byte alphabet.
MergesOfWords read_merging_model(const JsonPart& top, const TokenizerDocument& document) {
  ModelPart part = read_model(top, document);
  // Merges operate on texts. An id without a piece gets a text that never occurs.
  for (std::size_t id = 0; id < part.definition.pieces.size(); ++id)
    if (std::string& piece = part.definition.pieces[id]; piece.empty()) {
      piece = fmt::format("\n<gap {}>\n", id);
      part.definition.unused.push_back({.id = static_cast<std::int32_t>(id)});
    }
  // Merges may also produce texts that added tokens match, but only if the model lists the token.
  std::erase_if(part.definition.added_tokens, [](const AddedToken& token) { return token.in_vocabulary; });
  if (part.suffix.empty())
    part.definition.text = CharacterText{.byte_fallback = part.byte_fallback};
  else
    part.definition.text = SuffixedText{.suffix = part.suffix, .byte_fallback = part.byte_fallback};
  return {std::move(part.definition)};
}

void read_any_model(const JsonPart& top, const TokenizerDocument& document, const ListedPieces& listed,
                    ComposedDefinition& definition) {
  const JsonPart model = child(top, "model");
  const std::string type = model_type(model);
  if (type == "BPE") {
    definition.model = read_merging_model(top, document);
  } else if (type == "Unigram") {
    definition.model = read_unigram_model(model, document);
  } else if (type == "WordPiece") {
    definition.model = read_word_piece_model(model, listed);
  } else if (type == "WordLevel") {
    model.allow({"type", "vocab", "unk_token"});
    require_vocabulary(model);
    definition.model = WholeWords{.unknown = unknown_piece(model, listed)};
  } else {
    unsupported(model.where(), fmt::format("the model type {}", Quoted{type}));
  }
}

}  // namespace

ComposedDefinition read_composed(const JsonPart& top, const TokenizerDocument& document) {
  ComposedDefinition definition;
  const ListedPieces listed(document, top.at("model.vocab"));
  const std::vector<AddedPiece> added = read_added_tokens(top, listed);
  definition.pieces = pieces_by_id(listed.all(), added, top.where());
  definition.listed.assign(definition.pieces.size(), false);
  for (const auto& [piece, id] : listed.all()) definition.listed[static_cast<std::size_t>(id)] = true;
  for (const AddedPiece& piece : added) definition.added_tokens.push_back(piece.token);
  read_any_model(top, document, listed, definition);
  if (!top.is_null("normalizer")) add_normalizer(child(top, "normalizer"), definition.normalizer);
  if (!top.is_null("pre_tokenizer")) add_cuts(child(top, "pre_tokenizer"), definition.pre_tokenizer);
  if (!top.is_null("post_processor")) {
    check_any_post_processor(child(top, "post_processor"));
    definition.post_processor = top.get("post_processor").dump();
  }
  definition.joins_with_spaces = top.is_null("decoder");
  if (!definition.joins_with_spaces) add_decoder_steps(child(top, "decoder"), definition.decoder);
  return definition;
}

}  // namespace dragoman::tokenizer

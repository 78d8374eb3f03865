#include "common_parts.h"
#include "composed_part.h"
#include "decoder_part.h"
#include "json/tokenizer_json.h"
#include "json_part.h"
#include "model_part.h"
#include "normalizer_part.h"
#include "pre_tokenizer_part.h"
#include "tokenizer_json_document.h"

#include <cstddef>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;

/// The parts of a file; `top` is all of it.
struct FileParts {
  JsonPart top;
  ModelPart model;
  NormalizerSteps normalizer = {};
  PreTokenizerPart pre_tokenizer = {};
  DecoderPart decoder = {};
};

void check_top(const JsonPart& top) {
  top.allow({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
             "decoder", "model"});
  if (top.text("version") != "1.0")
    unsupported(top.at("version"), fmt::format("version {}", Quoted{top.text("version")}));
  for (const char* key : {"truncation", "padding"})
    if (!top.is_null(key)) unsupported(top.where(), key);
}

/// These add special tokens or move offsets, which encode() does not.
void check_post_processor(const JsonPart& part, bool byte_level) {
  const std::string type = part.type();
  if (type == "Sequence") {
    for (std::size_t i = 0; i < part.array("processors").size(); ++i)
      check_post_processor(element(part, "processors", i), byte_level);
    return;
  }
  if (type != "TemplateProcessing" && (type != "ByteLevel" || !byte_level))
    unsupported(part.where(), fmt::format("the post-processor {}", Quoted{type}));
}

std::string read_post_processor(const JsonPart& top, bool byte_level) {
  if (top.is_null("post_processor")) return {};
  check_post_processor(child(top, "post_processor"), byte_level);
  return top.get("post_processor").dump();
}

void check_added_tokens(const FileParts& parts) {
  for (std::size_t i = 0; i < parts.model.added.size(); ++i)
    for (const char* key : {"single_word", "lstrip", "rstrip"}) {
      const JsonPart token = element(parts.top, "added_tokens", i);
      if (token.flag(key)) unsupported(token.where(), key);
    }
}

void check_normalizer(const FileParts& parts) {
  for (std::size_t i = 0; i < parts.model.definition.added_tokens.size() && !parts.normalizer.empty(); ++i) {
    const JsonPart token = element(parts.top, "added_tokens", i);
    if (token.flag("normalized")) unsupported(token.where(), "'normalized' together with a normalizer");
  }
  require(parts.normalizer.size() <= kMaxSteps, ErrorCode::kBadInput, "{}: more than {} steps",
          parts.top.at("normalizer"), kMaxSteps);
}

void check_byte_level(const FileParts& parts) {
  const bool byte_level = parts.pre_tokenizer.byte_level.has_value();
  if (byte_level != parts.decoder.byte_level)
    unsupported(parts.top.where(), byte_level ? "the pre-tokenizer 'ByteLevel' without the decoder 'ByteLevel'"
                                              : "the decoder 'ByteLevel' without the pre-tokenizer");
  if (byte_level && parts.decoder.has_steps()) unsupported(parts.top.at("decoder"), "'ByteLevel' with other decoders");
}

void check_end_of_word(const FileParts& parts) {
  const PreTokenizerDefinition& words = parts.pre_tokenizer.words;
  const bool between_spaces =
      std::holds_alternative<WhitespaceSplit>(words) || words == PreTokenizerDefinition(SplitBetween{.separator = " "});
  const std::string& suffix = parts.model.suffix;
  if ((!suffix.empty() && !between_spaces) || suffix != parts.decoder.suffix)
    unsupported(parts.top.at("model.end_of_word_suffix"),
                "other than with WhitespaceSplit or a Split on a space, 'Removed', and the decoder 'BPEDecoder' with "
                "the same suffix");
  if (!suffix.empty() && parts.decoder.has_steps())
    unsupported(parts.top.at("decoder"), "'BPEDecoder' with other decoders");
}

void check_metaspace(const FileParts& parts) {
  const DecoderPart& decoder = parts.decoder;
  if (decoder.metaspace && (decoder.has_steps() || decoder.byte_level || !decoder.suffix.empty()))
    unsupported(parts.top.at("decoder"), "'Metaspace' with other decoders");
}

void check_text(const FileParts& parts) {
  const PreTokenizerPart& pre_tokenizer = parts.pre_tokenizer;
  require(!pre_tokenizer.inner.any() || std::holds_alternative<SplitBefore>(pre_tokenizer.words),
          ErrorCode::kUnsupported,
          "{}: splitting digits, case or punctuation, and protected patterns, go with words that begin at a mark or "
          "are whole lines, without a byte-level alphabet or end-of-word suffix",
          parts.top.where());
  require(!pre_tokenizer.byte_level || !parts.model.byte_fallback, ErrorCode::kUnsupported,
          "{}: byte fallback together with a byte-level alphabet is not supported", parts.top.where());
}

TextDefinition text_of(FileParts parts) {
  auto& [words, inner, byte_level] = parts.pre_tokenizer;
  if (byte_level) {
    byte_level->normalizer = std::move(parts.normalizer);
    return std::move(*byte_level);
  }
  if (!parts.model.suffix.empty())
    return SuffixedText{.normalizer = std::move(parts.normalizer),
                        .between_white_space = std::holds_alternative<WhitespaceSplit>(words),
                        .suffix = std::move(parts.model.suffix),
                        .byte_fallback = parts.model.byte_fallback};
  if (auto* split = std::get_if<SplitBefore>(&words)) split->inner = std::move(inner);
  CharacterText text{.normalizer = std::move(parts.normalizer),
                     .pre_tokenizer = std::move(words),
                     .byte_fallback = parts.model.byte_fallback};
  if (parts.decoder.metaspace)
    text.decoder = *parts.decoder.metaspace;
  else
    text.decoder = std::move(parts.decoder.steps);
  return text;
}

/// The layouts that BpeDefinition has.
BpeDefinition read_layout(const JsonPart& top, const TokenizerDocument& document) {
  FileParts parts{.top = top, .model = read_model(top, document)};
  check_added_tokens(parts);
  if (!top.is_null("normalizer")) parts.normalizer = read_normalizer(child(top, "normalizer"));
  if (!top.is_null("pre_tokenizer")) parts.pre_tokenizer = read_pre_tokenizer(child(top, "pre_tokenizer"));
  parts.model.definition.post_processor = read_post_processor(top, parts.pre_tokenizer.byte_level.has_value());
  check_normalizer(parts);
  if (top.is_null("decoder")) unsupported(top.where(), "a file without a decoder");
  parts.decoder = read_decoder(child(top, "decoder"), parts.model.definition);
  check_byte_level(parts);
  check_end_of_word(parts);
  check_metaspace(parts);
  check_text(parts);
  BpeDefinition definition = std::move(parts.model.definition);
  definition.text = text_of(std::move(parts));
  return definition;
}

}  // namespace

BpeDefinition read_tokenizer_json(std::string_view text, const std::string& name) {
  const TokenizerDocument document = parse_tokenizer_document(text, name);
  const JsonPart top(document.rest, name);
  check_top(top);
  return read_layout(top, document);
}

std::variant<BpeDefinition, ComposedDefinition> read_any_tokenizer_json(std::string_view text,
                                                                        const std::string& name) {
  const TokenizerDocument document = parse_tokenizer_document(text, name);
  const JsonPart top(document.rest, name);
  check_top(top);
  if (child(top, "model").type() == "BPE") try {
      return read_layout(top, document);
    } catch (const core::Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;  // it may be put together of other parts
    }
  return read_composed(top, document);
}

}  // namespace dragoman::tokenizer

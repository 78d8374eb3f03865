#include "common_parts.h"
#include "composed_part.h"
#include "decoder_part.h"
#include "json/tokenizer_json.h"
#include "json_part.h"
#include "model_part.h"
#include "normalizer_part.h"
#include "pre_tokenizer_part.h"
#include "tokenizer_json_document.h"

#include <algorithm>
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

/// The parts of a file. `top` is the whole file.
struct FileParts {
  JsonPart top;
  ModelPart model;
  NormalizerSteps normalizer = {};
  PreTokenizerPart pre_tokenizer = {};
  DecoderPart decoder = {};
};

void check_top(const JsonPart& top, const core::LogSink& log) {
  top.allow({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
             "decoder", "model"});
  if (!top.is_null("version") && top.text("version") != "1.0")
    unsupported(top.at("version"), fmt::format("version {}", Quoted{top.text("version")}));
  // Truncation and padding serve the library's batches for models. encode() returns exactly the ids of a text.
  if (!top.is_null("truncation") || !top.is_null("padding"))
    core::log(log, core::LogLevel::kWarning,
              fmt::format("{}: its {} ignored: texts are neither cut nor padded", top.where(),
                          top.is_null("padding")      ? "truncation is"
                          : top.is_null("truncation") ? "padding is"
                                                      : "truncation and padding are"));
}

/// Reports or rejects a stored dropout. With such a file, the library draws the pieces of each text at random. A caller
/// without a log, such as training, could not report that encoding here is deterministic, so it gets an error.
void check_dropout(const JsonPart& model, const core::LogSink& log) {
  if (model.is_null("dropout") || model.get("dropout") == 0) return;
  require(model.get("dropout").is_number(), ErrorCode::kBadInput, "{}: expected a number, not {}", model.at("dropout"),
          model.get("dropout").type_name());
  require(static_cast<bool>(log), ErrorCode::kUnsupported,
          "{}: {}: a file that draws its pieces is not supported; set it to null, and let the training draw "
          "(data.bpe_dropout)",
          model.at("dropout"), model.get("dropout").dump());
  core::log(log, core::LogLevel::kWarning,
            fmt::format("{}: {} is ignored: a text has the same pieces each time; `mode` dropout draws them",
                        model.at("dropout"), model.get("dropout").dump()));
}

/// Post-processors add special tokens or move offsets, which encode() does not do.
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
  for (const AddedPiece& added : parts.model.added)
    if (added.token.single_word || added.token.lstrip || added.token.rstrip)
      unsupported(parts.top.at("added_tokens"),
                  fmt::format("single_word, lstrip or rstrip of {}", Quoted{added.token.text}));
}

void check_normalizer(const FileParts& parts) {
  for (const AddedPiece& added : parts.model.added)
    if (added.token.normalized && !parts.normalizer.empty())
      unsupported(parts.top.at("added_tokens"),
                  fmt::format("'normalized' of {} together with a normalizer", Quoted{added.token.text}));
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

/// Reads the layouts that BpeDefinition supports.
BpeDefinition read_layout(const JsonPart& top, const TokenizerDocument& document) {
  FileParts parts{.top = top, .model = read_model(top, document)};
  if (std::ranges::find(parts.model.definition.pieces, "") != parts.model.definition.pieces.end())
    unsupported(top.at("model.vocab"), "a vocabulary with a gap in its ids");
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

BpeDefinition read_tokenizer_json(std::string_view text, const std::string& name, const core::LogSink& log) {
  const TokenizerDocument document = parse_tokenizer_document(text, name);
  const JsonPart top(document.rest, name);
  check_top(top, log);
  check_dropout(child(top, "model"), log);
  return read_layout(top, document);
}

std::variant<BpeDefinition, ComposedDefinition> read_any_tokenizer_json(std::string_view text, const std::string& name,
                                                                        const core::LogSink& log) {
  const TokenizerDocument document = parse_tokenizer_document(text, name);
  const JsonPart top(document.rest, name);
  check_top(top, log);
  if (model_type(child(top, "model")) == "BPE") check_dropout(child(top, "model"), log);
  if (model_type(child(top, "model")) == "BPE") try {
      return read_layout(top, document);
    } catch (const core::Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;  // it may be composed of other parts
    }
  return read_composed(top, document);
}

ComposedDefinition read_composed_tokenizer_json(std::string_view text, const std::string& name,
                                                const core::LogSink& log) {
  const TokenizerDocument document = parse_tokenizer_document(text, name);
  const JsonPart top(document.rest, name);
  check_top(top, log);
  if (model_type(child(top, "model")) == "BPE") check_dropout(child(top, "model"), log);
  return read_composed(top, document);
}

}  // namespace dragoman::tokenizer

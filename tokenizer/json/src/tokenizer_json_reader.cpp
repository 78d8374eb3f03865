#include "base/base64.h"
#include "base/piece_table.h"
#include "definition/escapes.h"
#include "json/tokenizer_json.h"
#include "json_part.h"
#include "normalizing/character_map.h"
#include "pre_tokenizing/inner_splits.h"
#include "pre_tokenizing/named_patterns.h"
#include "regex/pattern_parser.h"
#include "tokenizer_json_document.h"

#include <algorithm>
#include <initializer_list>
#include <set>

#include <nlohmann/json.hpp>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using core::Quoted;
using core::require;
using Json = nlohmann::json;
using Part = JsonPart;

constexpr std::size_t kMaxSteps = 64;

/// The text of {"String": text}; regular expressions are refused.
std::string string_pattern(const Part& part) {
  const Part pattern(part.get("pattern"), part.at("pattern"));
  if (pattern.is_null("String")) unsupported(pattern.where(), "a pattern other than a String");
  pattern.allow({"String"});
  std::string text = pattern.text("String");
  require(!text.empty(), ErrorCode::kBadInput, "{}: the pattern is empty", pattern.where());
  return text;
}

class TokenizerReader {
 public:
  TokenizerReader(const TokenizerDocument& document, const std::string& name)
      : document_(document), top_(document.rest, name) {}

  BpeDefinition read() {
    top_.allow({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                "decoder", "model"});
    if (top_.text("version") != "1.0")
      unsupported(top_.at("version"), fmt::format("version {}", Quoted{top_.text("version")}));
    for (const char* key : {"truncation", "padding"})
      if (!top_.is_null(key)) unsupported(top_.where(), key);
    const Part model(top_.get("model"), top_.at("model"));
    read_model_options(model);
    read_vocabulary(model);
    read_merges(model);
    read_unknown(model);
    if (!top_.is_null("normalizer")) read_normalizer(Part(top_.get("normalizer"), top_.at("normalizer")));
    if (!top_.is_null("pre_tokenizer")) read_pre_tokenizer(Part(top_.get("pre_tokenizer"), top_.at("pre_tokenizer")));
    if (!top_.is_null("post_processor"))
      read_post_processor(Part(top_.get("post_processor"), top_.at("post_processor")));
    read_added_tokens_flags();
    require(normalizer_.size() <= kMaxSteps, ErrorCode::kBadInput, "{}: more than {} steps", top_.at("normalizer"),
            kMaxSteps);
    if (top_.is_null("decoder")) unsupported(top_.where(), "a file without a decoder");
    read_decoder(Part(top_.get("decoder"), top_.at("decoder")));
    check_byte_level();
    check_end_of_word();
    check_metaspace();
    definition_.text = text();
    return std::move(definition_);
  }

 private:
  void read_model_options(const Part& model) {
    require(
        model.type() != "Unigram", ErrorCode::kUnsupported,
        "{}: the model type 'Unigram' is not supported in a tokenizer.json; use the SentencePiece .model that it was "
        "made from",
        model.where());
    if (model.type() != "BPE") unsupported(model.where(), fmt::format("the model type {}", Quoted{model.type()}));
    model.allow({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                 "byte_fallback", "ignore_merges", "vocab", "merges"});
    if (!model.is_null("dropout") && model.get("dropout") != 0) unsupported(model.where(), "a stored dropout");
    if (!model.is_null("continuing_subword_prefix") && !model.text("continuing_subword_prefix").empty())
      unsupported(model.where(), "continuing_subword_prefix");
    if (!model.is_null("end_of_word_suffix")) suffix_ = model.text("end_of_word_suffix");
    definition_.fuse_unknown = model.flag("fuse_unk");
    byte_fallback_ = model.flag("byte_fallback");
    definition_.ignore_merges = model.flag("ignore_merges");
  }

  bool has_decoder_steps() const {
    return fused_ || !decoder_steps_.replacements.empty() || decoder_steps_.byte_fallback;
  }

  void check_byte_level() const {
    if (byte_level_.has_value() != decodes_byte_level_)
      unsupported(top_.where(), byte_level_ ? "the pre-tokenizer 'ByteLevel' without the decoder 'ByteLevel'"
                                            : "the decoder 'ByteLevel' without the pre-tokenizer");
    if (byte_level_ && has_decoder_steps()) unsupported(top_.at("decoder"), "'ByteLevel' with other decoders");
  }

  void check_metaspace() const {
    if (metaspace_decoder_ && (has_decoder_steps() || decodes_byte_level_ || !decoded_suffix_.empty()))
      unsupported(top_.at("decoder"), "'Metaspace' with other decoders");
  }

  void check_end_of_word() const {
    const bool between_spaces = std::holds_alternative<WhitespaceSplit>(pre_tokenizer_) ||
                                pre_tokenizer_ == PreTokenizerDefinition(SplitBetween{.separator = " "});
    if ((!suffix_.empty() && !between_spaces) || suffix_ != decoded_suffix_)
      unsupported(top_.at("model.end_of_word_suffix"),
                  "other than with WhitespaceSplit or a Split on a space, 'Removed', and the decoder 'BPEDecoder' with "
                  "the same suffix");
    if (!suffix_.empty() && has_decoder_steps()) unsupported(top_.at("decoder"), "'BPEDecoder' with other decoders");
  }

  TextDefinition text() {
    auto* split = std::get_if<SplitBefore>(&pre_tokenizer_);
    require(!inner_cuts_.any() || split != nullptr, ErrorCode::kUnsupported,
            "{}: splitting digits, case or punctuation, and protected patterns, go with words that begin at a mark or "
            "are whole lines, without a byte-level alphabet or end-of-word suffix",
            top_.where());
    require(!byte_level_ || !byte_fallback_, ErrorCode::kUnsupported,
            "{}: byte fallback together with a byte-level alphabet is not supported", top_.where());
    if (split != nullptr) split->inner = std::move(inner_cuts_);
    if (byte_level_) {
      byte_level_->normalizer = std::move(normalizer_);
      return *byte_level_;
    }
    if (!suffix_.empty())
      return SuffixedText{.normalizer = std::move(normalizer_),
                          .between_white_space = std::holds_alternative<WhitespaceSplit>(pre_tokenizer_),
                          .suffix = suffix_,
                          .byte_fallback = byte_fallback_};
    return CharacterText{.normalizer = std::move(normalizer_),
                         .pre_tokenizer = std::move(pre_tokenizer_),
                         .byte_fallback = byte_fallback_,
                         .decoder = decoder()};
  }

  DecoderDefinition decoder() {
    if (metaspace_decoder_) return *metaspace_decoder_;
    return std::move(decoder_steps_);
  }

  /// Pieces come from the model's vocabulary and, beyond it, from the added tokens; together their ids have no gap.
  void read_vocabulary(const Part& model) {
    require(model.get("vocab").is_object(), ErrorCode::kBadInput, "{}: expected an object, not {}", model.at("vocab"),
            model.get("vocab").type_name());
    index_vocabulary();
    read_added_tokens();
    const auto beyond =
        static_cast<std::size_t>(std::count_if(definition_.added_tokens.begin(), definition_.added_tokens.end(),
                                               [](const AddedToken& token) { return !token.in_vocabulary; }));
    definition_.pieces.resize(document_.vocabulary.size() + beyond);
    for (const auto& [piece, id] : document_.vocabulary) set_piece(id, piece);
    for (std::size_t i = 0; i < definition_.added_tokens.size(); ++i)
      if (!definition_.added_tokens[i].in_vocabulary) set_piece(definition_.added_tokens[i].id, added_texts_[i]);
  }

  void index_vocabulary() {
    listed_.reserve(document_.vocabulary.size());
    for (const auto& [piece, id] : document_.vocabulary) listed_.push_back(piece);
    entries_ = PieceTable<std::string_view>(listed_);
    for (std::size_t i = 0; i < listed_.size(); ++i)
      require(entries_.add(static_cast<std::int32_t>(i)), ErrorCode::kBadInput, "{}.model.vocab: {} is listed twice",
              top_.where(), Quoted{listed_[i]});
  }

  /// The id of a piece of the vocabulary, or -1.
  std::int32_t id_in_vocabulary(std::string_view piece) const {
    const std::int32_t entry = entries_.find(piece);
    return entry < 0 ? -1 : document_.vocabulary[static_cast<std::size_t>(entry)].second;
  }

  void set_piece(std::int32_t id, std::string_view piece) {
    require(static_cast<std::size_t>(id) < definition_.pieces.size(), ErrorCode::kBadInput,
            "{}: the piece {} has the id {}, but there are {} pieces; ids must run from 0 without a gap", top_.where(),
            Quoted{piece}, id, definition_.pieces.size());
    std::string& place = definition_.pieces[static_cast<std::size_t>(id)];
    require(!piece.empty(), ErrorCode::kBadInput, "{}: the piece with the id {} is empty", top_.where(), id);
    require(place.empty(), ErrorCode::kBadInput, "{}: the pieces {} and {} share the id {}", top_.where(),
            Quoted{place}, Quoted{piece}, id);
    place = piece;
  }

  void read_added_tokens() {
    if (top_.is_null("added_tokens")) return;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < top_.array("added_tokens").size(); ++i) {
      const Part token = element(top_, "added_tokens", i);
      token.allow({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
      for (const char* key : {"single_word", "lstrip", "rstrip"})
        if (token.flag(key)) unsupported(token.where(), key);
      const std::int32_t id = token.number("id");
      const std::string content = token.text("content");
      const std::int32_t listed = id_in_vocabulary(content);
      const bool in_vocabulary = listed >= 0;
      require(!in_vocabulary || listed == id, ErrorCode::kBadInput, "{}: {} has another id in the vocabulary",
              token.where(), Quoted{content});
      require(seen.insert(content).second, ErrorCode::kBadInput, "{}: {} is listed twice", token.where(),
              Quoted{content});
      definition_.added_tokens.push_back({id, token.flag("special"), in_vocabulary});
      added_texts_.push_back(content);
    }
  }

  void read_added_tokens_flags() {
    for (std::size_t i = 0; i < definition_.added_tokens.size() && !normalizer_.empty(); ++i) {
      const Part token = element(top_, "added_tokens", i);
      if (token.flag("normalized")) unsupported(token.where(), "'normalized' together with a normalizer");
    }
  }

  void read_unknown(const Part& model) {
    if (model.is_null("unk_token")) return;
    const std::int32_t id = id_in_vocabulary(model.text("unk_token"));
    require(id >= 0, ErrorCode::kBadInput, "{}: {} is not in the vocabulary", model.at("unk_token"),
            Quoted{model.text("unk_token")});
    definition_.unknown = id;
  }

  void read_merges(const Part& model) {
    model.array("merges");  // complains if it is none
    definition_.merges.reserve(document_.merges.size());
    std::string joined;
    for (const auto& [left, right] : document_.merges) {
      joined.assign(left).append(right);
      definition_.merges.push_back({merged_id(left), merged_id(right), merged_id(joined)});
    }
  }

  std::int32_t merged_id(std::string_view piece) const {
    const std::int32_t id = id_in_vocabulary(piece);
    if (id < 0)
      core::fail(ErrorCode::kBadInput, "{}.model.merges[{}]: {} is not in the vocabulary", top_.where(),
                 definition_.merges.size(), Quoted{piece});
    return id;
  }

  void read_normalizer(const Part& part) {
    using Kind = NormalizerStep::Kind;
    const std::string type = part.type();
    if (type == "Sequence") {
      part.allow({"type", "normalizers"});
      for (std::size_t i = 0; i < part.array("normalizers").size(); ++i)
        read_normalizer(element(part, "normalizers", i));
      return;
    }
    static constexpr std::pair<const char*, Kind> kPlain[] = {{"NFC", Kind::kNfc},
                                                              {"NFD", Kind::kNfd},
                                                              {"NFKC", Kind::kNfkc},
                                                              {"NFKD", Kind::kNfkd},
                                                              {"Lowercase", Kind::kLowercase}};
    for (const auto& [name, kind] : kPlain)
      if (type == name) {
        part.allow({"type"});
        normalizer_.push_back({kind, {}, {}});
        return;
      }
    if (type == "Prepend") {
      part.allow({"type", "prepend"});
      normalizer_.push_back({Kind::kPrepend, {}, part.text("prepend")});
    } else if (type == "Precompiled") {
      part.allow({"type", "precompiled_charsmap"});
      normalizer_.push_back({Kind::kPrecompiled, {}, character_map(part)});
    } else if (type == "Replace") {
      part.allow({"type", "pattern", "content"});
      normalizer_.push_back(has_regular_expression(part)
                                ? known_step(part)
                                : NormalizerStep{Kind::kReplace, string_pattern(part), part.text("content")});
    } else {
      unsupported(part.where(), fmt::format("the normalizer {}", Quoted{type}));
    }
  }

  static std::string character_map(const Part& part) {
    constexpr const char* kKey = "precompiled_charsmap";
    const auto map = from_base64(part.text(kKey));
    require(map.has_value(), ErrorCode::kBadInput,
            "{}: expected a character map in base64; the file is damaged, write it again with the program that made it",
            part.at(kKey));
    const CharacterMap undamaged(*map, part.at(kKey));  // or it throws
    return *map;
  }

  static bool has_regular_expression(const Part& part) {
    if (!part.get("pattern").is_object() || !part.get("pattern").contains("Regex")) return false;
    Part(part.get("pattern"), part.at("pattern")).allow({"Regex"});
    return true;
  }

  /// One of the few steps that the format can only express as a regular expression.
  static NormalizerStep known_step(const Part& part) {
    using Kind = NormalizerStep::Kind;
    const Json& expression = part.get("pattern")["Regex"];
    for (const Kind kind : {Kind::kTrimStart, Kind::kTrimEnd, Kind::kSqueeze})
      for (const std::string pattern : {" ", kWordMark}) {
        NormalizerStep step{kind, pattern, {}};
        if (expression == regular_expression(step) && part.text("content") == (kind == Kind::kSqueeze ? pattern : ""))
          return step;
      }
    unsupported(part.where(), "this regular expression");
  }

  void read_pre_tokenizer(const Part& part) {
    const std::string type = part.type();
    if (type == "Split")
      read_split(part);
    else if (type == "ByteLevel")
      read_byte_level(part, part.flag("use_regex") || part.is_null("use_regex"));
    else if (type == "Digits")
      read_digits(part);
    else if (type == "Sequence" && ends_with(part, "ByteLevel"))
      read_pattern_and_bytes(part);
    else if (type == "Sequence")
      read_cuts(part);
    else if (type == "Metaspace")
      read_metaspace(part);
    else if (type == "WhitespaceSplit")
      read_whitespace_split(part);
    else
      unsupported(part.where(), fmt::format("the pre-tokenizer {}", Quoted{type}));
  }

  void read_whitespace_split(const Part& part) {
    part.allow({"type"});
    pre_tokenizer_ = WhitespaceSplit();
  }

  static void allow_split_keys(const Part& part) { part.allow({"type", "pattern", "behavior", "invert"}); }

  static void allow_byte_level_keys(const Part& part) {
    part.allow({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  }

  void read_split(const Part& part) {
    allow_split_keys(part);
    const std::string behavior = part.text("behavior");
    if (part.flag("invert")) unsupported(part.where(), "invert");
    if (behavior == "Isolated" && has_regular_expression(part)) return read_isolated(part);
    if (behavior != "MergedWithNext" && behavior != "Removed")
      unsupported(part.where(), fmt::format("the behavior {}", Quoted{behavior}));
    if (behavior == "Removed")
      pre_tokenizer_ = SplitBetween{.separator = string_pattern(part)};
    else
      pre_tokenizer_ = SplitBefore{.mark = string_pattern(part)};
  }

  void read_isolated(const Part& part) {
    const std::string expression = Part(part.get("pattern"), part.at("pattern")).text("Regex");
    if (expression == kCasePattern) {
      inner_cuts_.letter_case = true;
      return;
    }
    if (expression == kPunctuationPattern) {
      inner_cuts_.punctuation = true;
      return;
    }
    try {
      parse_pattern(expression, PatternDialect::kOniguruma);
    } catch (const core::Error& error) {
      unsupported(part.where(), fmt::format("its regular expression ({})", error.what()));
    }
    inner_cuts_.protected_pattern = expression;
  }

  void read_metaspace(const Part& part) {
    const PrependScheme scheme = prepend_scheme(part);
    pre_tokenizer_ = Metaspace{.prepend = scheme, .split = part.flag("split") || part.is_null("split")};
  }

  static PrependScheme prepend_scheme(const Part& part) {
    part.allow({"type", "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
    if (part.text("replacement") != kWordMark) unsupported(part.at("replacement"), "a mark other than U+2581");
    const std::string scheme = part.is_null("prepend_scheme") ? "always" : part.text("prepend_scheme");
    if (!part.is_null("add_prefix_space") && part.flag("add_prefix_space") != (scheme != "never"))
      unsupported(part.at("add_prefix_space"), "another value than prepend_scheme's");
    for (const auto& [known, name] : kPrependSchemes)
      if (scheme == name) return known;
    unsupported(part.at("prepend_scheme"), fmt::format("{}", Quoted{scheme}));
  }

  void read_digits(const Part& part) {
    part.allow({"type", "individual_digits"});
    if (!part.flag("individual_digits")) unsupported(part.where(), "'Digits' without individual_digits");
    inner_cuts_.digits = true;
  }

  static bool ends_with(const Part& sequence, std::string_view type) {
    const std::size_t size = sequence.array("pretokenizers").size();
    return size > 0 && element(sequence, "pretokenizers", size - 1).type() == type;
  }

  /// In the order in which they are written; another one would cut matches of the pattern before it is looked for.
  void read_cuts(const Part& sequence) {
    sequence.allow({"type", "pretokenizers"});
    int last = -1;
    for (std::size_t i = 0; i < sequence.array("pretokenizers").size(); ++i) {
      const Part cut = element(sequence, "pretokenizers", i);
      const std::string type = cut.type();
      if (type != "Split" && type != "Digits") unsupported(cut.where(), fmt::format("{} in a sequence", Quoted{type}));
      read_pre_tokenizer(cut);
      const int place = place_of(cut);
      if (place <= last)
        unsupported(cut.where(), "this order: a pattern, changes of case, a String, punctuation, Digits");
      last = place;
    }
  }

  static int place_of(const Part& cut) {
    if (cut.type() == "Digits") return 4;
    if (!has_regular_expression(cut)) return 2;
    const Json& expression = cut.get("pattern")["Regex"];
    return expression == kPunctuationPattern ? 3 : expression == kCasePattern ? 1 : 0;
  }

  void read_byte_level(const Part& part, bool with_pattern) {
    allow_byte_level_keys(part);
    byte_level_.emplace();
    byte_level_->add_prefix_space = part.flag("add_prefix_space") || part.is_null("add_prefix_space");
    if (with_pattern) byte_level_->pattern = WordPattern::kGpt2;
  }

  /// A pattern that we know and then the byte alphabet, as files converted from tiktoken have it.
  void read_pattern_and_bytes(const Part& part) {
    part.allow({"type", "pretokenizers"});
    const Json& steps = part.array("pretokenizers");
    require(steps.size() == 2, ErrorCode::kUnsupported, "{}: only a Split and a ByteLevel in sequence are supported",
            part.where());
    const Part split = element(part, "pretokenizers", 0);
    const Part bytes = element(part, "pretokenizers", 1);
    if (split.type() != "Split" || bytes.type() != "ByteLevel" || !has_regular_expression(split))
      unsupported(part.where(), "a sequence other than a Split by regular expression and ByteLevel");
    allow_split_keys(split);
    if (split.text("behavior") != "Isolated" || split.flag("invert"))
      unsupported(split.where(), fmt::format("the behavior {}, or invert", Quoted{split.text("behavior")}));
    const Json& expression = split.get("pattern")["Regex"];
    const auto known =
        expression.is_string() ? pattern_of_regular_expression(expression.get<std::string>()) : std::nullopt;
    if (!known) unsupported(split.where(), "this regular expression");
    read_byte_level(bytes, false);
    if (byte_level_->add_prefix_space || bytes.flag("use_regex") || bytes.is_null("use_regex"))
      unsupported(bytes.where(), "add_prefix_space or use_regex after a Split");
    byte_level_->pattern = known;
  }

  void read_post_processor(const Part& part) {
    check_post_processor(part);
    definition_.post_processor = top_.get("post_processor").dump();
  }

  /// These add special tokens or move offsets, which encode() does not.
  void check_post_processor(const Part& part) const {
    const std::string type = part.type();
    if (type == "Sequence") {
      for (std::size_t i = 0; i < part.array("processors").size(); ++i)
        check_post_processor(element(part, "processors", i));
      return;
    }
    if (type != "TemplateProcessing" && (type != "ByteLevel" || !byte_level_))
      unsupported(part.where(), fmt::format("the post-processor {}", Quoted{type}));
  }

  void read_decoder(const Part& part) {
    const std::string type = part.type();
    if (type == "Sequence") {
      part.allow({"type", "decoders"});
      for (std::size_t i = 0; i < part.array("decoders").size(); ++i) read_decoder(element(part, "decoders", i));
    } else if (type == "Replace") {
      read_decoder_replace(part);
    } else if (type == "ByteFallback") {
      part.allow({"type"});
      if (fused_) unsupported(part.where(), "ByteFallback after Fuse");
      decoder_steps_.byte_fallback = true;
    } else if (type == "Fuse") {
      part.allow({"type"});
      fused_ = true;
    } else if (type == "Strip") {
      read_strip(part);
    } else if (type == "ByteLevel") {
      allow_byte_level_keys(part);
      if (decodes_byte_level_) unsupported(part.where(), "a second 'ByteLevel'");
      decodes_byte_level_ = true;
    } else if (type == "Metaspace") {
      if (metaspace_decoder_) unsupported(part.where(), "a second 'Metaspace'");
      metaspace_decoder_ = MetaspaceDecoder{.prepend = prepend_scheme(part)};
    } else if (type == "BPEDecoder") {
      read_suffix_decoder(part);
    } else {
      unsupported(part.where(), fmt::format("the decoder {}", Quoted{type}));
    }
  }

  void read_suffix_decoder(const Part& part) {
    part.allow({"type", "suffix"});
    if (!decoded_suffix_.empty()) unsupported(part.where(), "a second 'BPEDecoder'");
    decoded_suffix_ = part.text("suffix");
    if (decoded_suffix_.empty()) unsupported(part.at("suffix"), "an empty suffix");
  }

  void read_decoder_replace(const Part& part) {
    part.allow({"type", "pattern", "content"});
    const std::string content = part.text("content");
    if (!fused_) {
      if (decoder_steps_.byte_fallback) unsupported(part.where(), "Replace between ByteFallback and Fuse");
      decoder_steps_.replacements.push_back({string_pattern(part), content});
      require(decoder_steps_.replacements.size() <= kMaxSteps, ErrorCode::kBadInput, "{}: more than {} steps",
              part.where(), kMaxSteps);
      return;
    }
    if (!has_regular_expression(part)) return read_escape(part);
    const Part pattern(part.get("pattern"), part.at("pattern"));
    const bool ours = pattern.get("Regex") == space_after_symbols_pattern(user_symbols(definition_)) && content.empty();
    if (!ours || decoder_steps_.strip) unsupported(part.where(), "this Replace after Fuse");
    decoder_steps_.drop_space_after_symbols = true;
  }

  /// What is undone last is the escape of the character that begins them all.
  void read_escape(const Part& part) {
    DecoderSteps& decoder = decoder_steps_;
    const Replacement escape{string_pattern(part), part.text("content")};
    const bool after_last = !decoder.escapes.empty() && decoder.escapes.back().content == kEscapeCharacter;
    const bool known =
        std::ranges::find(decoder.escapes, escape.pattern, &Replacement::pattern) != decoder.escapes.end();
    if (!is_escape(escape) || after_last || known || decoder.drop_space_after_symbols || decoder.strip)
      unsupported(part.where(), "this Replace after Fuse");
    decoder.escapes.push_back(escape);
  }

  void read_strip(const Part& part) {
    part.allow({"type", "content", "start", "stop"});
    if (!fused_) unsupported(part.where(), "Strip before Fuse");
    if (decoder_steps_.strip) unsupported(part.where(), "a second Strip");
    if (part.number("stop") != 0) unsupported(part.where(), "stripping at the end");
    const std::string character = part.text("content");
    require(!character.empty() && core::decode_utf8(character, 0).length == character.size(), ErrorCode::kBadInput,
            "{}: expected one character", part.at("content"));
    const auto most = static_cast<std::size_t>(part.number("start"));
    if (most > 0) decoder_steps_.strip = Strip{.character = character, .most = most};
  }

  const TokenizerDocument& document_;
  Part top_;
  BpeDefinition definition_;
  std::vector<std::string_view>
      listed_;  // the vocabulary's pieces in the order of the file, by which entries_ finds them
  PieceTable<std::string_view> entries_{listed_};
  std::vector<std::string> added_texts_;
  // What stands in the parts of the file, out of which text() puts the definition's text together:
  std::string suffix_;
  bool byte_fallback_ = false;
  NormalizerSteps normalizer_;
  PreTokenizerDefinition pre_tokenizer_;
  InnerCuts inner_cuts_;
  std::optional<ByteLevelText> byte_level_;  // without its normaliser
  DecoderSteps decoder_steps_;
  bool fused_ = false;
  bool decodes_byte_level_ = false;
  std::string decoded_suffix_;
  std::optional<MetaspaceDecoder> metaspace_decoder_;
};

}  // namespace

BpeDefinition read_tokenizer_json(std::string_view text, const std::string& name) {
  const TokenizerDocument document = parse_tokenizer_document(text, name);
  return TokenizerReader(document, name).read();
}

}  // namespace dragoman::tokenizer

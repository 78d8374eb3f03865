#include "dragoman/tokenizer/bpe_tokenizer.h"

#include "base/piece_table.h"
#include "batched_words_encoder.h"
#include "bpe/bpe_model.h"
#include "decoding/bpe_decoder.h"
#include "decoding/bpe_streaming_decoder.h"
#include "decoding/sentencepiece_decoder.h"
#include "json/tokenizer_json.h"
#include "pre_token_encoder.h"
#include "pre_tokenizing/pre_tokenizer.h"

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/lazy.h>
#include <dragoman/core/named_file.h>
#include <dragoman/core/stop_scope.h>
#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/byte_pieces.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

struct BpeTokenizer::Impl {
  Impl(BpeDefinition d, const std::string& name)
      : definition(std::move(d)), model(definition, name), pre_tokenizer(definition) {
    if (BpeDecoder::may_refuse(definition)) decoder();
    special.assign(definition.pieces.size(), false);
    for (const AddedToken& token : definition.added_tokens) special[static_cast<std::size_t>(token.id)] = token.special;
    if (const auto* text = std::get_if<SuffixedText>(&definition.text)) show_continuation_marks(*text);
    if (const auto* text = std::get_if<SentencePieceText>(&definition.text)) list_decoded_pieces(*text);
  }

  /// Special tokens, including the unknown one, decode to nothing, as in all merges files.
  void list_decoded_pieces(const SentencePieceText& text) {
    using Kind = DecodedPiece::Kind;
    for (std::size_t id = 0; id < definition.pieces.size(); ++id) {
      const std::string& piece = definition.pieces[id];
      const auto byte = text.decodes_bytes ? byte_of_piece(piece) : std::nullopt;
      if (special[id])
        decoded.push_back({.kind = Kind::kSurface});
      else if (byte)
        decoded.push_back({.kind = Kind::kByte, .byte = static_cast<char>(*byte)});
      else
        decoded.push_back({.text = piece});
    }
  }

  /// If a text contains the mark itself, another piece may look the same. Look-ups then find the first one.
  void show_continuation_marks(const SuffixedText& text) {
    for (std::size_t id = 0; id < definition.pieces.size(); ++id) {
      std::string piece = definition.pieces[id];
      if (piece.size() > text.suffix.size() && piece.ends_with(text.suffix))
        piece.resize(piece.size() - text.suffix.size());
      else if (!special[id])
        piece += text.continuation_mark();
      shown.push_back(std::move(piece));
    }
    shown_ids.emplace(shown);
    for (std::size_t id = 0; id < shown.size(); ++id) shown_ids->add(static_cast<std::int32_t>(id));
  }

  /// Created when the first text is decoded, since encoding does not need it.
  const BpeDecoder& decoder() const {
    return lazy_decoder.get([this] { return BpeDecoder(definition); });
  }
  void check(std::int32_t id) const { check_id(id, static_cast<std::int32_t>(definition.pieces.size())); }

  BpeDefinition definition;
  BpeModel model;
  PreTokenizer pre_tokenizer;
  core::Lazy<BpeDecoder> lazy_decoder;
  std::vector<bool> special;
  std::vector<std::string> shown;         // by id, with continuation marks; empty if there are none
  std::optional<PieceTable<>> shown_ids;  // for `shown`
  std::vector<DecodedPiece> decoded;      // by id, for a SentencePieceText, else empty
};

BpeTokenizer::BpeTokenizer(BpeDefinition definition, const std::string& name)
    : impl_(std::make_unique<const Impl>(std::move(definition), name)) {}
BpeTokenizer::~BpeTokenizer() = default;
BpeTokenizer::BpeTokenizer(BpeTokenizer&&) noexcept = default;
BpeTokenizer& BpeTokenizer::operator=(BpeTokenizer&&) noexcept = default;

BpeTokenizer BpeTokenizer::parse(std::string_view json, const std::string& name) {
  return BpeTokenizer(read_tokenizer_json(json, name), name);
}

BpeTokenizer BpeTokenizer::load(const std::filesystem::path& path) {
  constexpr std::uint64_t kLimit = std::uint64_t{256} << 20;
  return parse(core::read_file(path, kLimit), path.string());
}

std::string BpeTokenizer::to_json() const {
  return write_tokenizer_json(impl_->definition);
}

void BpeTokenizer::save(const std::filesystem::path& path) const {
  core::write_named_file(path, to_json());
}

std::int32_t BpeTokenizer::size() const {
  return static_cast<std::int32_t>(impl_->definition.pieces.size());
}

std::vector<std::int32_t> BpeTokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<std::int32_t> ids;
  WordBuffers buffers;
  impl_->pre_tokenizer.for_each_pre_token(text, options.match_special_tokens, false, [&](const PreToken& token) {
    if (token.added_token >= 0) {
      ids.push_back(token.added_token);
      return;
    }
    impl_->model.encode_word(token.text, options, buffers);
    for (const Symbol& symbol : buffers.word) ids.push_back(symbol.id);
  });
  return ids;
}

std::vector<Piece> BpeTokenizer::encode_pieces(std::string_view text, const EncodeOptions& options) const {
  std::vector<Piece> pieces;
  WordBuffers buffers;
  impl_->pre_tokenizer.for_each_pre_token(text, options.match_special_tokens, true, [&](const PreToken& token) {
    if (token.added_token >= 0) {
      pieces.push_back({token.added_token, token.begin, token.end});
      return;
    }
    impl_->model.encode_word(token.text, options, buffers);
    if (pieces.empty()) pieces.reserve(buffers.word.size());  // this may be a line without spaces
    std::size_t at = 0;
    for (const Symbol& symbol : buffers.word) {
      pieces.push_back({symbol.id, token.origin[at], token.origin[at + symbol.length]});
      at += symbol.length;
    }
  });
  return pieces;
}

std::vector<std::string> BpeTokenizer::encode_as_text(std::string_view text, const EncodeOptions& options) const {
  const auto* suffixed = std::get_if<SuffixedText>(&impl_->definition.text);
  std::vector<std::string> pieces;
  WordBuffers buffers;
  impl_->pre_tokenizer.for_each_pre_token(text, options.match_special_tokens, false, [&](const PreToken& token) {
    if (token.added_token >= 0) {
      pieces.emplace_back(piece(token.added_token));
      return;
    }
    impl_->model.encode_word(token.text, options, buffers);
    std::size_t at = 0;
    for (std::size_t i = 0; i < buffers.word.size(); ++i) {
      const Symbol& symbol = buffers.word[i];
      if (symbol.id == impl_->definition.unknown) {
        pieces.emplace_back(token.text.substr(at, symbol.length));
        if (suffixed != nullptr && i + 1 < buffers.word.size()) pieces.back() += suffixed->continuation_mark();
      } else {
        pieces.emplace_back(piece(symbol.id));
      }
      at += symbol.length;
    }
  });
  return pieces;
}

std::unique_ptr<TextEncoder> BpeTokenizer::make_encoder(const EncodeOptions& options) const {
  if (BatchedWordsEncoder::applies_to(impl_->definition, impl_->pre_tokenizer, options))
    return std::make_unique<BatchedWordsEncoder>(impl_->definition, impl_->pre_tokenizer, impl_->model, options);
  if (PreTokenEncoder::applies_to(options))
    return std::make_unique<PreTokenEncoder>(impl_->pre_tokenizer, impl_->model, options);
  return Tokenizer::make_encoder(options);
}

std::string BpeTokenizer::decode(std::span<const std::int32_t> ids) const {
  for (const std::int32_t id : ids) impl_->check(id);
  if (!std::holds_alternative<SentencePieceText>(impl_->definition.text)) return impl_->decoder().decode(ids);
  const auto decoder = make_decoder();
  std::string text;
  core::StopCheck check("decoding ids");
  for (const std::int32_t id : ids) {
    check(10);
    decoder->decode(id, text);
  }
  decoder->finish(text);
  return text;
}

std::unique_ptr<StreamingDecoder> BpeTokenizer::make_decoder() const {
  if (const auto* text = std::get_if<SentencePieceText>(&impl_->definition.text))
    return std::make_unique<SentencePieceDecoder>(impl_->decoded, text->normalization.dummy_prefix,
                                                  text->normalization.remove_extra_spaces);
  return std::make_unique<BpeStreamingDecoder>(impl_->decoder(), size());
}

std::string_view BpeTokenizer::piece(std::int32_t id) const {
  impl_->check(id);
  return (impl_->shown_ids ? impl_->shown : impl_->definition.pieces)[static_cast<std::size_t>(id)];
}

std::optional<std::int32_t> BpeTokenizer::id(std::string_view piece) const {
  const std::int32_t found = impl_->shown_ids ? impl_->shown_ids->find(piece) : impl_->model.find(piece);
  return found >= 0 ? std::optional(found) : std::nullopt;
}

bool BpeTokenizer::is_special(std::int32_t id) const {
  impl_->check(id);
  return impl_->special[static_cast<std::size_t>(id)];
}

const BpeDefinition& BpeTokenizer::definition() const noexcept {
  return impl_->definition;
}

}  // namespace dragoman::tokenizer

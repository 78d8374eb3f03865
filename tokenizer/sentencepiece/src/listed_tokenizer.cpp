#include "listed_tokenizer.h"

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {

std::int32_t ListedTokenizer::checked(std::int32_t id) const {
  core::require(id >= 0 && id < listed_, core::ErrorCode::kInvalidArgument,
                "the id {} is not in the vocabulary, whose ids run from 0 to {}", id, listed_ - 1);
  return id;
}

std::vector<std::int32_t> ListedTokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<std::int32_t> ids = segmenter_->encode(text, options);
  for (std::int32_t& id : ids) id = listed_id(id);
  return ids;
}

std::vector<Piece> ListedTokenizer::encode_pieces(std::string_view text, const EncodeOptions& options) const {
  std::vector<Piece> pieces = segmenter_->encode_pieces(text, options);
  for (Piece& piece : pieces) piece.id = listed_id(piece.id);
  return pieces;
}

class ListedTokenizer::Encoder final : public TextEncoder {
 public:
  Encoder(const ListedTokenizer& tokenizer, const EncodeOptions& options)
      : tokenizer_(tokenizer), encoder_(tokenizer.segmenter_->make_encoder(options)) {}
  void encode(std::string_view text, std::uint64_t line, std::vector<std::int32_t>& ids) override {
    const std::size_t before = ids.size();
    encoder_->encode(text, line, ids);
    list(ids, before);
  }
  void encode_all(std::span<const std::string_view> texts, std::uint64_t first_line, EncodedTexts& out) override {
    const std::size_t before = out.ids.size();
    encoder_->encode_all(texts, first_line, out);
    list(out.ids, before);
  }

 private:
  void list(std::vector<std::int32_t>& ids, std::size_t from) const {
    for (std::size_t i = from; i < ids.size(); ++i) ids[i] = tokenizer_.listed_id(ids[i]);
  }

  const ListedTokenizer& tokenizer_;
  std::unique_ptr<TextEncoder> encoder_;
};

std::unique_ptr<TextEncoder> ListedTokenizer::make_encoder(const EncodeOptions& options) const {
  return std::make_unique<Encoder>(*this, options);
}

std::string ListedTokenizer::decode(std::span<const std::int32_t> ids) const {
  for (const std::int32_t id : ids) checked(id);
  return segmenter_->decode(ids);
}

class ListedTokenizer::Decoder final : public StreamingDecoder {
 public:
  explicit Decoder(const ListedTokenizer& tokenizer)
      : tokenizer_(tokenizer), decoder_(tokenizer.segmenter_->make_decoder()) {}
  void decode(std::int32_t id, std::string& text) override { decoder_->decode(tokenizer_.checked(id), text); }
  void decode_text(std::string_view piece, std::string& text) override { decoder_->decode_text(piece, text); }
  void finish(std::string& text) override { decoder_->finish(text); }

 private:
  const ListedTokenizer& tokenizer_;
  std::unique_ptr<StreamingDecoder> decoder_;
};

std::unique_ptr<StreamingDecoder> ListedTokenizer::make_decoder() const {
  return std::make_unique<Decoder>(*this);
}

std::string_view ListedTokenizer::piece(std::int32_t id) const {
  return segmenter_->piece(checked(id));
}

std::optional<std::int32_t> ListedTokenizer::id(std::string_view piece) const {
  const auto found = segmenter_->id(piece);
  return found && *found < listed_ ? found : std::nullopt;
}

std::vector<Segmentation> ListedTokenizer::encode_n_best(std::string_view text, std::int32_t most) const {
  std::vector<Segmentation> found = segmenter_->encode_n_best(text, most);
  for (Segmentation& each : found)
    for (std::int32_t& id : each.ids) id = listed_id(id);
  return found;
}

bool ListedTokenizer::is_special(std::int32_t id) const {
  return segmenter_->is_special(checked(id));
}

}  // namespace dragoman::tokenizer

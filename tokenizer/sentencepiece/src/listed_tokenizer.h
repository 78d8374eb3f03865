#pragma once

#include <memory>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Segments text with another tokenizer, of whose pieces a model has only the first `listed`. All other pieces become
/// the unknown piece.
class ListedTokenizer final : public Tokenizer {
 public:
  /// Requires `unknown` < `listed` <= segmenter->size().
  ListedTokenizer(std::unique_ptr<Tokenizer> segmenter, std::int32_t listed, std::int32_t unknown)
      : segmenter_(std::move(segmenter)), listed_(listed), unknown_(unknown) {}

  std::int32_t size() const override { return listed_; }
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options) const override;
  std::vector<Piece> encode_pieces(std::string_view text, const EncodeOptions& options) const override;
  std::vector<std::string> encode_as_text(std::string_view text, const EncodeOptions& options) const override {
    return segmenter_->encode_as_text(text, options);
  }
  std::unique_ptr<TextEncoder> make_encoder(const EncodeOptions& options) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::unique_ptr<StreamingDecoder> make_decoder() const override;
  std::string_view piece(std::int32_t id) const override;
  std::optional<std::int32_t> id(std::string_view piece) const override;
  bool is_special(std::int32_t id) const override;
  std::vector<Segmentation> encode_n_best(std::string_view text, std::int32_t most) const override;

 private:
  class Encoder;
  class Decoder;

  std::int32_t listed_id(std::int32_t id) const noexcept { return id < listed_ ? id : unknown_; }
  std::int32_t checked(std::int32_t id) const;

  std::unique_ptr<Tokenizer> segmenter_;
  std::int32_t listed_;
  std::int32_t unknown_;
};

}  // namespace dragoman::tokenizer

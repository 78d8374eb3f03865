#pragma once

#include "formats/dictionary.h"

#include <memory>
#include <string>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Segments text with another tokenizer and looks the pieces up in a dictionary, like toolkits that read lines of
/// pieces. In these lines, text without a piece in the other tokenizer is unchanged. A piece that is not in the
/// dictionary becomes its unknown piece. Decoding drops special pieces.
class DictionaryTokenizer final : public Tokenizer {
 public:
  DictionaryTokenizer(std::unique_ptr<Tokenizer> segmenter, Dictionary dictionary);

  std::int32_t size() const override { return static_cast<std::int32_t>(dictionary_.pieces.size()); }
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options) const override;
  std::vector<Piece> encode_pieces(std::string_view text, const EncodeOptions& options) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::unique_ptr<StreamingDecoder> make_decoder() const override;
  std::string_view piece(std::int32_t id) const override;
  std::optional<std::int32_t> id(std::string_view piece) const override;
  bool is_special(std::int32_t id) const override;

 private:
  class Streaming;
  class StreamingJoiner;

  std::size_t index(std::int32_t id) const;
  std::string join(std::span<const std::int32_t> ids) const;

  std::unique_ptr<Tokenizer> segmenter_;
  Dictionary dictionary_;
  std::string mark_;                   // after pieces that do not end their word; empty if there is none
  std::vector<std::int32_t> segment_;  // by id: the segmenter's id of the piece, or -1
};

}  // namespace dragoman::tokenizer

#pragma once

#include "formats/dictionary.h"

#include <memory>
#include <string>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Cuts text as another tokenizer does, and looks the pieces up in a dictionary, as toolkits do that read lines of
/// pieces, in which text that the other tokenizer has no piece for stands as it is. A piece that is not in the
/// dictionary is its unknown piece. In decoding, special pieces stand for nothing.
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
  std::string mark_;                   // behind pieces that do not end their word; empty if there is none
  std::vector<std::int32_t> segment_;  // by id: the segmenter's id of the piece, or -1
};

}  // namespace dragoman::tokenizer

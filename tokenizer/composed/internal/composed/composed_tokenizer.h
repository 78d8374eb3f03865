#pragma once

#include "definition/composed_definition.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// A token, or a word before it becomes tokens, as the `tokenizers` library reports it.
struct LibraryToken {
  std::int32_t id;    ///< -1 for a word
  std::int32_t word;  ///< the index of its word; an added token counts as a word
  std::size_t begin;  ///< the bytes [begin, end) of the original text: whole characters
  std::size_t end;
  std::string text;  ///< empty for a token whose text is its piece
  bool operator==(const LibraryToken&) const = default;
};

/// A tokenizer composed of the parts that `tokenizer.json` specifies, in any order. The ids and texts are those of the
/// `tokenizers` library. BpeTokenizer, for merges in one of Dragoman's own layouts, is faster and can be edited.
class ComposedTokenizer final : public Tokenizer {
 public:
  /// Every message begins with `name`. Throws Error{kBadInput}.
  ComposedTokenizer(ComposedDefinition definition, const std::string& name);
  ~ComposedTokenizer() override;

  std::int32_t size() const override;
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const override;
  std::vector<Piece> encode_pieces(std::string_view text, const EncodeOptions& options = {}) const override;
  std::unique_ptr<TextEncoder> make_encoder(const EncodeOptions& options = {}) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::string_view piece(std::int32_t id) const override;
  std::optional<std::int32_t> id(std::string_view piece) const override;
  bool is_special(std::int32_t id) const override;
  const std::string& post_processor() const noexcept;

  /// Returns the tokens of encode() with the offsets of the `tokenizers` library. They differ from the ranges of
  /// encode_pieces(): text that is removed belongs to no token, and several tokens may represent the same characters.
  std::vector<LibraryToken> encode_as_library(std::string_view text, const EncodeOptions& options) const;
  /// Returns the words of a text, which the model then converts to tokens, and the added tokens.
  std::vector<LibraryToken> words_as_library(std::string_view text, const EncodeOptions& options) const;
  std::string normalize(std::string_view text) const;
  /// Returns by id the texts of the added tokens that are found in normalised text, as far as they differ from their
  /// pieces. The library decodes these texts.
  std::map<std::int32_t, std::string> normalized_tokens() const;
  /// Returns the text of tokens, which need not be pieces.
  std::string decode_texts(std::vector<std::string> tokens) const;

 private:
  struct Impl;
  class Encoder;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace dragoman::tokenizer

#pragma once

#include "definition/composed_definition.h"

#include <memory>
#include <string>

#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

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

 private:
  struct Impl;
  class Encoder;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace dragoman::tokenizer

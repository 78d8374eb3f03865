#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// A tokenizer by byte pair encoding, stored as a Hugging Face `tokenizer.json`.
///
///     const BpeTokenizer tokenizer = learn_bpe({"train.de", "train.en"}, {.vocab_size = 8000});     // learn_bpe.h
///     tokenizer.save("tokenizer.json");
///
/// tokenizer_files.h reads and writes other formats. docs/reference/tokenizer-formats.md lists the supported parts of
/// each format. A file that uses other parts is rejected with an error that names them, so no text is ever encoded
/// differently from its author's intention.
///
/// Immutable and thread-safe, like every Tokenizer. It owns its definition.
class BpeTokenizer final : public Tokenizer {
 public:
  /// Validates the definition and builds the tables. Error messages start with `name`. Throws Error{kBadInput}.
  explicit BpeTokenizer(BpeDefinition definition, const std::string& name = "tokenizer");
  ~BpeTokenizer() override;
  BpeTokenizer(BpeTokenizer&&) noexcept;
  BpeTokenizer& operator=(BpeTokenizer&&) noexcept;

  /// Throws Error{kBadInput} for text that is not a tokenizer, and Error{kUnsupported} for a tokenizer that uses an
  /// unsupported part.
  static BpeTokenizer parse(std::string_view json, const std::string& name);
  static BpeTokenizer load(const std::filesystem::path& path);
  /// Returns the same bytes for the same definition on every machine.
  std::string to_json() const;
  void save(const std::filesystem::path& path) const;

  std::int32_t size() const override;
  /// Throws Error{kBadInput} in two cases: for a character outside the vocabulary if the tokenizer has neither byte
  /// fallback nor an unknown token, and for a word of 4 GiB or more.
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const override;
  std::vector<Piece> encode_pieces(std::string_view text, const EncodeOptions& options = {}) const override;
  std::vector<std::string> encode_as_text(std::string_view text, const EncodeOptions& options = {}) const override;
  std::unique_ptr<TextEncoder> make_encoder(const EncodeOptions& options = {}) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::unique_ptr<StreamingDecoder> make_decoder() const override;
  std::string_view piece(std::int32_t id) const override;
  std::optional<std::int32_t> id(std::string_view piece) const override;
  bool is_special(std::int32_t id) const override;

  const BpeDefinition& definition() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace dragoman::tokenizer

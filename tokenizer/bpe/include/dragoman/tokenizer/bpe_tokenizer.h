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

/// Byte pair encoding, stored as a Hugging Face `tokenizer.json`; tokenizer_files.h reads and writes other files.
/// docs/reference/tokenizer-formats.md lists the supported parts of each format. A file with other parts is refused and
/// the message names the part, so that no file is encoded differently from its author's intention.
class BpeTokenizer final : public Tokenizer {
 public:
  /// Checks the definition and builds the tables. `name` stands in front of error messages. Throws Error{kBadInput}.
  explicit BpeTokenizer(BpeDefinition definition, const std::string& name = "tokenizer");
  ~BpeTokenizer() override;
  BpeTokenizer(BpeTokenizer&&) noexcept;
  BpeTokenizer& operator=(BpeTokenizer&&) noexcept;

  /// Throws Error{kBadInput} for text that is not a tokenizer and Error{kUnsupported} for one that uses a part we do
  /// not have.
  static BpeTokenizer parse(std::string_view json, const std::string& name);
  static BpeTokenizer load(const std::filesystem::path& path);
  /// The same bytes for the same definition, on every machine.
  std::string to_json() const;
  void save(const std::filesystem::path& path) const;

  std::int32_t size() const override;
  /// Throws Error{kBadInput} for a character that is not in the vocabulary of a tokenizer with neither byte fallback
  /// nor an unknown token, and for a word of 4 GiB or more.
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

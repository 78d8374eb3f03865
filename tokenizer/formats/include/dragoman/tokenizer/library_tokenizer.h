#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/log.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// A `tokenizer.json` with everything that the `tokenizers` library reports about a text: offsets, words and the text
/// of tokens, in addition to the ids. Immutable, so threads may share it.
///
///     #include <dragoman/core/file.h>
///     const LibraryTokenizer tokenizer(core::read_file("tokenizer.json"), "tokenizer.json");
///     for (const LibraryTokenizer::Token& token : tokenizer.encode("Guten Morgen!")) std::cout << token.begin << '\n';
///
/// Characters that neither the vocabulary nor an unknown piece covers are dropped, as in the library. The
/// post-processor, truncation and padding are not applied.
class LibraryTokenizer {
 public:
  /// A token or a word of a text.
  struct Token {
    std::int32_t id;     ///< -1 for a word
    std::int32_t word;   ///< the index of its word; an added token counts as a word
    std::int64_t begin;  ///< the characters [begin, end) of the original text
    std::int64_t end;
    std::string text;  ///< empty for a token whose text is its piece
    bool operator==(const Token&) const = default;
  };

  /// Every message begins with `name`. Throws Error{kBadInput} for a damaged file and Error{kUnsupported} for one that
  /// cannot be reproduced exactly. `log` receives a warning about parts that are ignored.
  LibraryTokenizer(std::string json, std::string name, const core::LogSink& log = {});
  ~LibraryTokenizer();
  LibraryTokenizer(LibraryTokenizer&&) noexcept;
  LibraryTokenizer& operator=(LibraryTokenizer&&) noexcept;

  /// Returns the tokenizer for ids alone, which is the faster one for many texts. It gives the ids of encode().
  const std::shared_ptr<const Tokenizer>& ids() const noexcept;
  /// Returns the tokens of a text in valid UTF-8.
  std::vector<Token> encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// Returns the words of a text before the model converts them to tokens, and the added tokens.
  std::vector<Token> words(std::string_view text, const EncodeOptions& options = {}) const;
  std::string normalize(std::string_view text) const;
  /// Returns the text of ids. Ids without a piece are ignored.
  std::string decode(std::span<const std::int32_t> ids, bool with_special_tokens) const;
  /// Returns the text of tokens, which need not be pieces.
  std::string decode(std::vector<std::string> tokens) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace dragoman::tokenizer

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// The result of a normalisation.
struct NormalizedText {
  std::string text;  ///< valid UTF-8
  /// For each byte of `text`, the offset in the original text of the bytes that it replaces; at the end, one more for
  /// the end of the text. The offsets never decrease.
  std::vector<std::size_t> origin;
};

/// Normalises texts as the SentencePiece library does before it segments them. The offsets are the library's, too.
///
///     const TextNormalizer normalizer({.character_map = make_character_map("nmt_nfkc")});     // character_maps.h
///     const NormalizedText normalized = normalizer.normalize("Ａ ﬁne  day");                   // "▁A▁fine▁day"
///
/// Immutable and thread-safe.
class TextNormalizer {
 public:
  /// `symbols` are user-defined symbols, which are not normalised. Every message begins with `name`. Throws
  /// Error{kBadInput} for a damaged character map.
  explicit TextNormalizer(SentencePieceNormalization options, const std::vector<std::string>& symbols = {},
                          const std::string& name = "normalizer");
  ~TextNormalizer();
  TextNormalizer(TextNormalizer&&) noexcept;
  TextNormalizer& operator=(TextNormalizer&&) noexcept;

  /// Throws Error{kBadInput} if rules make the text many times longer.
  NormalizedText normalize(std::string_view text) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace dragoman::tokenizer

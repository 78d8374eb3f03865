#pragma once

#include "base/trie.h"
#include "normalizing/character_map.h"
#include "normalizing/normalizer.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_definition.h>

namespace dragoman::tokenizer {

/// Normalises like the SentencePiece library, character by character. User-defined symbols are kept. Otherwise the
/// longest rule of the character map applies, and a byte that is not UTF-8 becomes U+FFFD. The result is valid UTF-8.
/// Immutable and thread-safe.
class SentencePieceNormalizer {
 public:
  /// `symbols` must be valid UTF-8 and need not outlive the call. Every message begins with `name`. Throws
  /// Error{kBadInput}.
  SentencePieceNormalizer(SentencePieceNormalization options, const std::vector<std::string_view>& symbols,
                          const std::string& name);

  /// Stores the result in `out`, whose memory is reused. Offsets are those of the library, counted from `begin`. Throws
  /// Error{kBadInput} if rules make the text many times longer.
  void apply(std::string_view text, std::size_t begin, bool track, AlignedText& out) const;

 private:
  struct Prefix {
    std::string_view replacement;
    std::size_t length;
  };
  class Run;

  Prefix normalize_prefix(std::string_view text) const noexcept;

  SentencePieceNormalization options_;
  std::string_view space_;
  std::optional<CharacterMap> map_;
  Trie symbols_;
};

}  // namespace dragoman::tokenizer

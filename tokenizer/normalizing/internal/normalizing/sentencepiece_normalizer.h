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

/// Normalises as the SentencePiece library does, character by character: user-defined symbols stay as they are, then
/// the longest rule of the character map applies, and a byte that is not UTF-8 becomes U+FFFD. The result is valid
/// UTF-8. Immutable, so any thread may call.
class SentencePieceNormalizer {
 public:
  /// `symbols` are valid UTF-8 and need not outlive the call. `name` begins every message. Throws Error{kBadInput}.
  SentencePieceNormalizer(SentencePieceNormalization options, const std::vector<std::string_view>& symbols,
                          const std::string& name);

  /// Puts the result into `out`, whose memory is used again. Offsets are those that the library gives, counted from
  /// `begin`. Throws Error{kBadInput} if rules make the text many times longer.
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

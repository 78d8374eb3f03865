#pragma once

#include "base/trie.h"
#include "definition/composed_definition.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/function_ref.h>

namespace dragoman::tokenizer {

/// Finds added tokens like the `tokenizers` library: the leftmost first, and the longest of those that begin at one
/// position, regardless of its flags. A match that its flags do not allow still hides matches that overlap with it.
class TokenFinder {
 public:
  /// `texts` are the texts to find. They need not outlive the call.
  TokenFinder(std::vector<const ComposedToken*> tokens, const std::vector<std::string>& texts);

  bool empty() const noexcept { return trie_.empty(); }
  /// Calls visit(id, begin, end) for each token and, with the id -1, for each stretch between tokens. Together the
  /// ranges cover the text. Special tokens are skipped unless `with_special` is set.
  void for_each(std::string_view text, bool with_special,
                core::FunctionRef<void(std::int32_t, std::size_t, std::size_t)> visit) const;

 private:
  Trie trie_;  // to the index in tokens_
  std::vector<ComposedToken> tokens_;
};

}  // namespace dragoman::tokenizer

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

/// Finds added tokens as the library tokenizers does: the leftmost first, and of several that begin at one place the
/// longest, whatever its flags say; a match whose flags do not allow it hides others that overlap with it.
class TokenFinder {
 public:
  /// `texts` are those to look for, and need not outlive the call.
  TokenFinder(std::vector<const ComposedToken*> tokens, const std::vector<std::string>& texts);

  bool empty() const noexcept { return trie_.empty(); }
  /// visit(id, begin, end) of each token and, with the id -1, of each stretch between; together they are the text.
  /// Special tokens are passed over unless `with_special`.
  void for_each(std::string_view text, bool with_special,
                core::FunctionRef<void(std::int32_t, std::size_t, std::size_t)> visit) const;

 private:
  Trie trie_;  // to the index in tokens_
  std::vector<ComposedToken> tokens_;
};

}  // namespace dragoman::tokenizer

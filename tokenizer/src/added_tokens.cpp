#include "added_tokens.h"

namespace dragoman::tokenizer {
namespace {

Trie make_trie(const BpeDefinition& definition, bool with_special) {
  std::vector<Trie::Entry> entries;
  for (const AddedToken& token : definition.added_tokens)
    if (with_special || !token.special)
      entries.emplace_back(definition.pieces[static_cast<std::size_t>(token.id)], token.id);
  return Trie(std::move(entries));
}

}  // namespace

AddedTokens::AddedTokens(const BpeDefinition& definition)
    : symbols_(make_trie(definition, false)), all_(make_trie(definition, true)) {}

AddedTokens::Match AddedTokens::find(std::string_view text, std::size_t from, bool with_special) const noexcept {
  const Trie& trie = with_special ? all_ : symbols_;
  if (!trie.empty()) {
    for (std::size_t begin = from; begin < text.size(); ++begin) {
      const Trie::Match match = trie.longest_prefix(text.substr(begin));
      if (match.value >= 0) return {match.value, begin, begin + match.length};
    }
  }
  return {-1, text.size(), text.size()};
}

}  // namespace dragoman::tokenizer

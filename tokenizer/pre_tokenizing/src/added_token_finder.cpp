#include "pre_tokenizing/added_token_finder.h"

#include <dragoman/core/stop_scope.h>

namespace dragoman::tokenizer {
namespace {

Trie make_trie(const BpeDefinition& definition, bool symbols, bool special) {
  std::vector<Trie::Entry> entries;
  for (const AddedToken& token : definition.added_tokens)
    if (token.special ? special : symbols)
      entries.emplace_back(definition.pieces[static_cast<std::size_t>(token.id)], token.id);
  return Trie(std::move(entries));
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(const BpeDefinition& definition, bool symbols, bool special)
    : symbols_(make_trie(definition, symbols, false)), all_(make_trie(definition, symbols, special)) {}

AddedTokenFinder AddedTokenFinder::in_raw_text(const BpeDefinition& definition) {
  return {definition, !std::holds_alternative<SentencePieceText>(definition.text), true};
}

AddedTokenFinder AddedTokenFinder::in_normal_text(const BpeDefinition& definition) {
  return {definition, std::holds_alternative<SentencePieceText>(definition.text), false};
}

AddedTokenFinder::Match AddedTokenFinder::find(std::string_view text, std::size_t from, bool with_special) const {
  const Trie& trie = with_special ? all_ : symbols_;
  if (!trie.empty()) {
    core::StopCheck check("encoding a text");
    for (std::size_t begin = from; begin < text.size(); ++begin) {
      check();
      const Trie::Match match = trie.longest_prefix(text.substr(begin));
      if (match.value >= 0) return {match.value, begin, begin + match.length};
    }
  }
  return {-1, text.size(), text.size()};
}

}  // namespace dragoman::tokenizer

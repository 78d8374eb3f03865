#include "token_finder.h"

#include "composed/character_kinds.h"

#include <algorithm>
#include <set>

#include <dragoman/core/stop_scope.h>
#include <dragoman/core/utf8.h>
#include <dragoman/core/white_space.h>

namespace dragoman::tokenizer {
namespace {

bool starts_with_word(std::string_view text) {
  if (text.empty()) return false;
  const core::DecodedCharacter c = core::decode_utf8(text, 0);
  return c.valid && is_word_character(c.code_point);
}

bool ends_with_word(std::string_view text) {
  if (text.empty()) return false;
  std::size_t last = text.size() - 1;
  while (last > 0 && text.size() - last < 4 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
  return starts_with_word(text.substr(last));
}

bool is_allowed(const ComposedToken& token, std::string_view text, std::size_t begin, std::size_t end,
                bool with_special) {
  if (token.special && !with_special) return false;
  return !token.single_word || (!ends_with_word(text.substr(0, begin)) && !starts_with_word(text.substr(end)));
}

}  // namespace

TokenFinder::TokenFinder(std::vector<const ComposedToken*> tokens, const std::vector<std::string>& texts) {
  std::vector<Trie::Entry> entries;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    // Normalisation may make two texts equal, or a text empty.
    if (texts[i].empty() || !seen.insert(texts[i]).second) continue;
    entries.emplace_back(texts[i], static_cast<std::int32_t>(tokens_.size()));
    tokens_.push_back(*tokens[i]);
  }
  trie_ = Trie(std::move(entries));
}

void TokenFinder::for_each(std::string_view text, bool with_special,
                           core::FunctionRef<void(std::int32_t, std::size_t, std::size_t)> visit) const {
  std::size_t given = 0;  // the end of the visited text
  core::StopCheck check("encoding a text");
  for (std::size_t at = 0; at < text.size() && !trie_.empty();) {
    check();
    const Trie::Match match = trie_.longest_prefix(text.substr(at));
    if (match.value < 0) {
      ++at;
      continue;
    }
    const ComposedToken& token = tokens_[static_cast<std::size_t>(match.value)];
    const std::size_t match_end = at + match.length;
    if (at >= given && is_allowed(token, text, at, match_end, with_special)) {
      const std::size_t begin =
          token.lstrip ? std::max(at - core::trailing_white_space(text.substr(0, at)), given) : at;
      const std::size_t end = token.rstrip ? match_end + core::leading_white_space(text.substr(match_end)) : match_end;
      if (given < begin) visit(-1, given, begin);
      visit(token.id, begin, end);
      given = end;
    }
    at = match_end;
  }
  if (given < text.size()) visit(-1, given, text.size());
}

}  // namespace dragoman::tokenizer

#include "huggingface/added_tokens.h"
#include "huggingface/tokenizers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::imports {
namespace {

using core::ErrorCode;
using core::quote;

/// Throws if merges are missing. Every piece of a GPT-2 vocabulary is a byte, a token in angle brackets or the result
/// of a merge; BART's also has filler words from fairseq. A truncated list of merges would go unnoticed: texts become
/// smaller pieces, and pieces that no merge produces become separate tokens.
void require_all_merges(const tokenizer::BpeDefinition& definition, const HuggingFaceFolder& folder) {
  std::vector<bool> made(definition.pieces.size());
  for (const tokenizer::Merge& merge : definition.merges) made[static_cast<std::size_t>(merge.result)] = true;
  for (std::size_t id = 0; id < made.size(); ++id) {
    const std::string& piece = definition.pieces[id];
    const bool is_byte = piece.size() == core::utf8_length(static_cast<unsigned char>(piece.front()));
    const bool is_token = (piece.starts_with('<') && piece.ends_with('>')) || piece.starts_with("madeupword");
    if (made[id] || is_byte || is_token) continue;
    core::fail(ErrorCode::kBadInput,
               "{}: no merge makes the piece {} of vocab.json; the file is cut or another model's, get it again",
               folder.file("merges.txt").string(), quote(piece));
  }
}

/// Makes tokens of a vocabulary special. Uses an index instead of searching, since a folder may list as many tokens as
/// its vocabulary has.
class SpecialTokens {
 public:
  explicit SpecialTokens(tokenizer::BpeDefinition& definition) : definition_(definition) {
    ids_.reserve(definition.pieces.size());
    for (std::size_t id = 0; id < definition.pieces.size(); ++id)
      ids_.emplace(definition.pieces[id], static_cast<std::int32_t>(id));  // of equal pieces the first
    for (const tokenizer::AddedToken& token : definition.added_tokens) added_.insert(token.id);
  }

  std::optional<std::int32_t> id_of(const std::string& text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }

  void make_special(std::int32_t id, bool in_vocabulary) {
    if (added_.insert(id).second)
      definition_.added_tokens.push_back({.id = id, .special = true, .in_vocabulary = in_vocabulary});
  }

  /// Tokens that the vocabulary does not list have the ids that follow it.
  void add_tokens_of(const HuggingFaceFolder& folder) {
    std::vector<FolderToken> tokens = added_tokens(folder);
    std::ranges::sort(tokens, std::less<>(), &FolderToken::id);
    for (const FolderToken& token : tokens) {
      const auto known = id_of(token.text);
      const auto next = static_cast<std::int64_t>(definition_.pieces.size());
      if (token.id != (known ? std::int64_t{*known} : next))
        core::fail(ErrorCode::kBadInput, "{}: the added token {} has the id {}, but by vocab.json it is {}",
                   folder.path.string(), quote(token.text), token.id, known ? std::int64_t{*known} : next);
      if (!known) {
        definition_.pieces.push_back(token.text);
        ids_.emplace(token.text, static_cast<std::int32_t>(next));
      }
      make_special(static_cast<std::int32_t>(token.id), known.has_value());
    }
  }

 private:
  tokenizer::BpeDefinition& definition_;
  core::TextMap<std::int32_t> ids_;
  core::IntegerSet<std::int32_t> added_;
};

}  // namespace

Gpt2Tokenizer read_gpt2_tokenizer(const HuggingFaceFolder& folder) {
  const std::string name = folder.file("vocab.json").string();
  static_cast<void>(folder.has("vocab.json"));  // throws for a pipe, which a separate tokenizer may be
  tokenizer::BpeDefinition definition = tokenizer::read_tokenizer_file(folder.file("vocab.json"));
  SpecialTokens special(definition);
  for (const char* text : {"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
    if (const auto id = special.id_of(text)) special.make_special(*id, true);
  require_all_merges(definition, folder);
  special.add_tokens_of(folder);
  const auto unknown = special.id_of("<unk>");
  core::require(unknown.has_value(), ErrorCode::kBadInput, "{}: there is no piece <unk>", name);
  return {.spec = {.content = tokenizer::BpeTokenizer(definition, name).to_json()}, .unknown = *unknown};
}

}  // namespace dragoman::imports

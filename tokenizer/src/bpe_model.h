#pragma once

#include "character_table.h"
#include "dragoman/tokenizer/tokenizer.h"
#include "merging.h"
#include "piece_table.h"
#include "trie.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace dragoman::tokenizer {

/// What a line's words share while they are encoded.
struct WordBuffers {
  std::vector<Symbol> word;
  MergeBuffers merge;
  std::uint64_t draws = 0;  ///< of the random numbers of the line
};

/// Words to symbols in the three modes. Immutable after construction.
class BpeModel {
 public:
  /// `definition` must outlive the model and stay where it is. Throws Error{kBadInput} that begins with `name` if it
  /// contradicts itself.
  BpeModel(const BpeDefinition& definition, const std::string& name);

  /// Encodes one normalised word into buffers.word.
  void encode_word(std::string_view word, const EncodeOptions& options, WordBuffers& buffers) const;
  /// The same for kExact, without looking first whether the word is a piece as a whole: for words that rarely are.
  void encode_rare_word(std::string_view word, WordBuffers& buffers) const;
  /// The id of any piece, added tokens included, or -1.
  std::int32_t find(std::string_view piece) const noexcept { return all_.find(piece); }

 private:
  void check_and_index(const std::string& name);
  void check_and_index_merges(const std::string& name);
  void index_characters();
  void index_trie();
  void find_whole_words();
  bool merges_to_itself(std::int32_t id, WordBuffers& buffers) const;

  /// The word as one piece where that is what its merges give, else -1.
  std::int32_t whole_word(std::string_view word) const noexcept;
  void split_characters(std::string_view word, std::vector<Symbol>& out) const;
  void add_unknown(std::string_view word, std::size_t begin, std::size_t length, std::vector<Symbol>& out) const;
  void match_longest(std::string_view word, std::vector<Symbol>& out) const;

  const BpeDefinition* definition_;
  PieceTable all_;
  PieceTable vocabulary_;  // without added tokens that the model does not list
  MergeTable merges_{{}};
  CharacterTable characters_;
  std::array<std::int32_t, 256> bytes_{};
  Trie trie_;
  std::vector<bool> whole_;  // by id: the characters of the piece merge into the piece
};

}  // namespace dragoman::tokenizer

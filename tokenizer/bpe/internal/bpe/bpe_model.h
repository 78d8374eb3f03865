#pragma once

#include "base/character_table.h"
#include "base/piece_table.h"
#include "base/trie.h"
#include "merging/linear_merger.h"
#include "merging/merge_table.h"
#include "merging/merge_word.h"
#include "merging/word_group.h"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/core/lazy.h>
#include <dragoman/tokenizer/bpe_definition.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::tokenizer {

/// Buffers that the words of a line share during encoding.
struct WordBuffers {
  std::vector<Symbol> word;
  MergeBuffers merge;
  std::string suffixed;
  std::vector<Symbol> expanded;
  std::uint64_t draws = 0;  ///< the number of random draws for the line
};

/// Converts words to symbols in the three encoding modes. Immutable after construction.
class BpeModel {
 public:
  /// `definition` must outlive the model and keep its address. Throws Error{kBadInput} that begins with `name` if the
  /// definition is inconsistent.
  BpeModel(const BpeDefinition& definition, const std::string& name);

  /// Encodes one normalised word into buffers.word.
  void encode_word(std::string_view word, const EncodeOptions& options, WordBuffers& buffers) const;
  /// Like encode_word() for kExact, but does not first check whether the whole word is a piece. For words that rarely
  /// are.
  void encode_rare_word(std::string_view word, WordBuffers& buffers) const;
  /// Returns whether encode_rare_word() can be replaced by split() and merge() for many words together. This requires
  /// that it only splits words into characters, unless a whole word is one piece, and merges them in an order that a
  /// WordGroup supports.
  bool merges_together() const noexcept { return merges_together_; }
  /// Writes the symbols of the word, at most one per byte. Returns their end, or nullptr if a character has no symbol.
  /// Byte-level models may find the whole word; the words of others have a mark, which is split separately.
  std::int32_t* split(std::string_view word, std::int32_t* to) const noexcept;
  void merge(WordGroup& group, std::span<WordIds> words) const { group.merge(merges_, words); }
  /// Returns the id of any piece, including added tokens, or -1.
  std::int32_t find(std::string_view piece) const noexcept { return all_.find(piece); }

 private:
  void check_and_index(const std::string& name);
  void check_and_index_merges(const std::string& name);
  void describe_end_of_word(const std::string& name);
  void index_expansions(const std::string& name);
  void add_expansion(std::int32_t id, const std::vector<std::int32_t>& parts, const std::string& name);
  void index_characters();
  void index_byte_alphabet();
  void index_final_forms();
  Trie make_trie() const;
  std::vector<bool> find_whole_words() const;
  bool merges_to_itself(std::int32_t id, WordBuffers& buffers) const;
  bool can_spell(std::string_view word) const noexcept;

  /// Returns the word as one piece if its merges produce that piece, else -1.
  std::int32_t whole_word(std::string_view word, WordBuffers& buffers) const;
  std::int32_t* split_bytes(std::string_view word, std::int32_t* to) const noexcept;
  void split_characters(std::string_view word, std::vector<Symbol>& out) const;
  void split_with_few_bytes(std::string_view word, std::vector<Symbol>& out) const;
  bool add_bytes(std::string_view character, bool last, std::vector<Symbol>& out) const;
  void split_bytes(std::string_view word, std::vector<Symbol>& out) const;
  void merge(WordBuffers& buffers) const;
  bool merge_linear(std::vector<Symbol>& word) const;
  void drop_end_of_word(std::vector<Symbol>& out) const;
  void expand(WordBuffers& buffers) const;
  void add_unknown(std::string_view word, std::size_t begin, std::size_t length, std::vector<Symbol>& out) const;
  void match_longest(std::string_view word, std::vector<Symbol>& out) const;

  const BpeDefinition* definition_;
  bool byte_level_;
  bool byte_fallback_;
  PieceTable<> all_;
  std::vector<std::string> raw_;  // with a byte alphabet: the bytes of each piece, else empty
  PieceTable<> vocabulary_;       // by the text that they match; without added tokens that the model does not list
  MergeTable merges_{{}};
  std::string suffix_;  // at the end of words, or empty
  bool suffix_is_attached_ = false;
  CharacterTable characters_;
  CharacterTable final_characters_;        // with the suffix attached
  std::vector<std::int32_t> final_forms_;  // with a separate suffix: by id, the piece followed by the suffix
  std::int32_t end_of_word_ = -1;          // the separate suffix
  std::vector<std::vector<std::int32_t>> expansions_;  // by id, or empty: the pieces that replace a piece
  bool merge_in_rounds_ = false;
  bool merges_together_ = false;
  std::array<std::int32_t, 256> bytes_{};  // -1: the byte has no piece
  bool has_all_bytes_ = false;             // with byte fallback
  core::Lazy<Trie> trie_;                  // only for greedy matching
  core::Lazy<LinearMerger> linear_;        // only for long words
  core::Lazy<std::vector<bool>> whole_;    // by id: whether the characters of the piece merge into it
};

}  // namespace dragoman::tokenizer

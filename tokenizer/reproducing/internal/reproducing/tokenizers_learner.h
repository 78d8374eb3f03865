#pragma once

#include "reproducing/pair_numbers.h"
#include "reproducing/symbol_names.h"
#include "reproducing/symbol_words.h"

#include <cstdint>
#include <optional>
#include <vector>

#include <dragoman/core/function_ref.h>

namespace dragoman::tokenizer {

/// Merges words as the BpeTrainer of Hugging Face `tokenizers` does. Its queue is followed literally, because that
/// chooses merges once two of them have spelled one string, as they can in a text that holds the suffix: a pair may
/// then wait in the queue several times, each time with other words, and each is a merge of its own.
class TokenizersLearner {
 public:
  /// `names` must outlive this; merging adds to it.
  TokenizersLearner(SymbolWords words, SymbolNames& names);

  struct Options {
    std::size_t vocab_size = 0;  ///< stops when there are so many names
    std::uint64_t min_frequency = 0;
    std::size_t max_token_length = 0;  ///< in characters; 0: none
  };
  /// The pairs in the order of their merging. Before each merge `on_merge` gets the number of names. Throws
  /// Error{kUnsupported} where a pair occurs 2^31 times or more, which `tokenizers` cannot count.
  std::vector<SymbolPair> learn(const Options& options, core::FunctionRef<void(std::size_t)> on_merge);

 private:
  /// A pair that waits to be merged in the words of places_[places].
  struct Entry {
    std::uint64_t count;  ///< of the pair in all words when this was put in the queue
    std::uint32_t pair;
    std::uint32_t places;
  };

  void count_pairs();
  bool comes_later(const Entry& a, const Entry& b) const;
  void push(const Entry& entry);
  std::optional<Entry> pop_best();
  void queue_gained_pairs();
  void merge(const Entry& entry);
  void merge_in_word(SymbolPair pair, std::int32_t joined, std::uint32_t word);
  void keep(std::int32_t symbol, std::uint32_t length);
  bool may_merge(std::uint32_t left, std::uint32_t right) const;
  std::uint32_t change(std::int32_t left, std::int32_t right, std::int64_t count);
  void gain(std::int32_t left, std::int32_t right, std::uint32_t word);

  SymbolNames& names_;
  SymbolWords words_;
  PairNumbers numbers_;
  std::vector<std::int64_t> counts_;                // by pair; that of a merged pair stays as it was
  std::vector<std::vector<std::uint32_t>> gained_;  // by pair: words where the current merge made it
  std::vector<std::uint32_t> gained_pairs_;         // those of which there are such words
  std::vector<std::vector<std::uint32_t>> places_;  // of all entries so far; empty once merged
  std::vector<Entry> queue_;                        // a heap
  /// By word, if there is a limit: the characters of its symbols, as they came about. With a suffix, the character `b`
  /// at the end of a word and `b` merged with a text that looks like the suffix are one symbol of two lengths.
  std::vector<std::vector<std::uint32_t>> lengths_;
  std::size_t max_length_ = 0;
  std::vector<std::int32_t> after_;  // the word that is worked on
  std::vector<std::uint32_t> after_lengths_;
};

}  // namespace dragoman::tokenizer

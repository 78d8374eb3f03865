#pragma once

#include "learning/symbol_words.h"
#include "reading/thread_arena.h"

#include <cstddef>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

namespace dragoman::tokenizer {

/// A substring of the words and its number of occurrences in the corpus.
struct Substring {
  std::uint32_t begin;  ///< one of its positions in UnigramWords::symbols
  std::uint32_t length;
  std::uint64_t count;
};

/// Returns all substrings of 2 to `max_length` symbols that occur at least twice. A shorter substring must also be
/// followed by different symbols. These are the inner nodes of the corpus's suffix tree down to that depth, in the
/// order of their symbols.
///
/// A substring that `is_valid` rejects is replaced by its longest valid prefix, unless that prefix is, or begins,
/// another substring of the result. Throws Error{kInterrupted} if `stop` is requested; it is checked once for each
/// first symbol.
std::vector<Substring> frequent_substrings(const UnigramWords& words, std::size_t max_length,
                                           const std::function<bool(std::span<const UnigramSymbol>)>& is_valid,
                                           ThreadArena& arena, const std::stop_token& stop = {});

/// Returns every symbol from 1 on, and the `most` substrings with the largest product of count and length. Scores are
/// the logarithms of their shares. `symbol_counts` are by symbol.
std::vector<LearnedPiece> seed_pieces(const UnigramWords& words, std::vector<Substring> substrings, std::size_t most,
                                      std::span<const std::uint64_t> symbol_counts);

}  // namespace dragoman::tokenizer

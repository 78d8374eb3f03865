#pragma once

#include "learning/symbol_words.h"
#include "reading/thread_arena.h"

#include <cstddef>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

namespace dragoman::tokenizer {

/// A substring of the words and how often it occurs in the corpus.
struct Substring {
  std::uint32_t begin;  ///< one of its places in UnigramWords::symbols
  std::uint32_t length;
  std::uint64_t count;
};

/// All substrings of 2 to `max_length` symbols that occur twice or more and, unless they are that long, not always with
/// the same symbol behind them: the inner nodes of the suffix tree of the corpus down to that depth, in the order of
/// their symbols. In place of one that `is_valid` refuses stands its longest prefix that is valid, unless that is, or
/// begins, another of them. Throws Error{kInterrupted} when `stop` asks: it is looked at once for each first symbol.
std::vector<Substring> frequent_substrings(const UnigramWords& words, std::size_t max_length,
                                           const std::function<bool(std::span<const UnigramSymbol>)>& is_valid,
                                           ThreadArena& arena, const std::stop_token& stop = {});

/// Every symbol from 1 on, and the `most` substrings of the greatest count times length, with the logarithms of their
/// shares as scores. `symbol_counts` are by symbol.
std::vector<LearnedPiece> seed_pieces(const UnigramWords& words, std::vector<Substring> substrings, std::size_t most,
                                      std::span<const std::uint64_t> symbol_counts);

}  // namespace dragoman::tokenizer

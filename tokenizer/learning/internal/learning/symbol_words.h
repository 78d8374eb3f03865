#pragma once

#include "reading/word_table.h"

#include <cstdint>
#include <span>
#include <vector>

namespace dragoman::tokenizer {

/// A character of the alphabet as its position in it, from 1. 0 ends a word.
using UnigramSymbol = std::uint32_t;

/// The distinct words of a corpus, stored one after the other, each with a 0 after it.
struct UnigramWords {
  std::vector<UnigramSymbol> symbols;
  std::vector<std::uint32_t> begins;  ///< of each word, and the end of the last one
  std::vector<std::uint64_t> counts;  ///< of each word

  std::size_t size() const noexcept { return counts.size(); }
  std::span<const UnigramSymbol> operator[](std::size_t i) const {
    return std::span(symbols).subspan(begins[i], begins[i + 1] - begins[i] - 1);
  }
};

/// A piece during learning.
struct LearnedPiece {
  std::vector<UnigramSymbol> symbols;
  double score = 0;  ///< the logarithm of its probability
};

}  // namespace dragoman::tokenizer

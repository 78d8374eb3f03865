#pragma once

#include "formats/dictionary.h"
#include "target.h"

#include <string_view>

namespace dragoman::fuzz {

/// Reads the bytes as a dictionary; the first says whose. True if it was one.
inline bool exercise_dictionary(std::string_view bytes) {
  if (bytes.empty()) return false;
  const auto parse = bytes[0] == 'm' ? tokenizer::parse_marian_dictionary : tokenizer::parse_fairseq_dictionary;
  return accepts([&] {
    const tokenizer::Dictionary dictionary = parse(bytes.substr(1), "fuzz");
    for (const std::string& piece : dictionary.pieces) {
      const auto id = static_cast<std::size_t>(dictionary.find(piece));
      promise(dictionary.pieces.at(id) == piece, "a piece is found under its id");
      promise(dictionary.special.size() == dictionary.pieces.size(), "each piece is special or not");
    }
  });
}

inline Target dictionary_target() {
  return {.name = "dictionary", .exercise = exercise_dictionary};
}

}  // namespace dragoman::fuzz

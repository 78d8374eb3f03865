#pragma once

#include "formats/dictionary.h"

#include <string_view>

#include <dragoman/core/error.h>

namespace dragoman::fuzz {

/// Reads the bytes as a dictionary; the first says whose. True if it was one; anything but an Error is a fault.
inline bool exercise_dictionary(std::string_view bytes) {
  if (bytes.empty()) return false;
  const auto parse = bytes[0] == 'm' ? tokenizer::parse_marian_dictionary : tokenizer::parse_fairseq_dictionary;
  try {
    const tokenizer::Dictionary dictionary = parse(bytes.substr(1), "fuzz");
    for (const std::string& piece : dictionary.pieces) {
      const auto id = static_cast<std::size_t>(dictionary.find(piece));
      if (dictionary.pieces.at(id) != piece || dictionary.special.size() != dictionary.pieces.size()) __builtin_trap();
    }
    return true;
  } catch (const core::Error&) {
    return false;
  }
}

}  // namespace dragoman::fuzz

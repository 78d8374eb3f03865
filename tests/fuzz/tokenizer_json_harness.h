#pragma once

#include <string_view>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::fuzz {

/// Reads the text as a tokenizer and, if that works, uses it. True if it was a tokenizer; anything but an Error is a
/// fault.
inline bool exercise_tokenizer_json(std::string_view json) {
  using namespace tokenizer;
  try {
    const BpeTokenizer tokenizer = BpeTokenizer::parse(json, "fuzz");
    for (const EncodingMode mode : {EncodingMode::kExact, EncodingMode::kGreedy, EncodingMode::kDropout})
      for (const std::string_view text :
           {"", " the river  <s> <ph>", "\xFF\xC3\xA9 e\xCC\x81 \xEF\xAC\x81", "aaaaaaaaaaaaaaaaaaaaaaaab"}) {
        try {
          const auto ids = tokenizer.encode(
              text, {.mode = mode, .dropout = 0.3, .seed = 1, .line = 2, .match_special_tokens = true});
          tokenizer.decode(ids);
          tokenizer.encode_pieces(text, {.mode = mode});
        } catch (const core::Error&) {
          // A character that such a vocabulary has no way to write.
        }
      }
    BpeTokenizer::parse(tokenizer.to_json(), "written again");
    return true;
  } catch (const core::Error&) {
    return false;
  }
}

}  // namespace dragoman::fuzz

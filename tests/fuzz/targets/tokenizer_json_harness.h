#pragma once

#include "json_growth.h"
#include "target.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/tokenizer/vocabulary_editing.h>

namespace dragoman::fuzz {

/// What is possible with a tokenizer whatever file it came from.
inline void exercise_streaming_and_editing(const tokenizer::BpeTokenizer& tokenizer) {
  using namespace tokenizer;
  std::vector<std::int32_t> ids;
  std::string text;
  const auto decoder = tokenizer.make_decoder();
  for (std::int32_t id = 0; id < std::min(tokenizer.size(), 300); ++id) {
    ids.push_back(id);
    decoder->decode(id, text);
  }
  decoder->finish(text);
  promise(text == tokenizer.decode(ids), "decoding id by id gives the same text");
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(tokenizer.size()));
  for (std::size_t id = 0; id < counts.size(); id += 2) counts[id] = 1;
  const auto check = [](auto&& edit) {
    // Refused: what this vocabulary does not have, or a character that the edited one has no way to write.
    accepts([&] {
      const BpeTokenizer edited(edit().definition, "edited");
      edited.decode(edited.encode(" the river 12"));
    });
  };
  check([&] { return prune(tokenizer.definition(), counts); });
  check([&] { return truncate(tokenizer.definition(), tokenizer.size() - 1); });
  check([&] { return extend(tokenizer.definition(), {"<new>"}, {"<symbol>"}); });
  check([&] { return merge_vocabularies(tokenizer.definition(), tokenizer.definition()); });
}

/// Reads the text as a tokenizer and, if that works, uses it. True if it was a tokenizer.
inline bool exercise_tokenizer_json(std::string_view json) {
  using namespace tokenizer;
  return accepts([&] {
    const BpeTokenizer tokenizer = BpeTokenizer::parse(json, "fuzz");
    const std::string letters(json.size(), 'a');  // a text as long as the file, which a long piece would match
    for (const EncodingMode mode : {EncodingMode::kExact, EncodingMode::kGreedy, EncodingMode::kDropout})
      for (const std::string_view text :
           {"", " the river  <s> <ph>", "\xFF\xC3\xA9 e\xCC\x81 \xEF\xAC\x81", letters.c_str()}) {
        // Refused: a character that such a vocabulary has no way to write.
        accepts([&] {
          const auto ids = tokenizer.encode(
              text, {.mode = mode, .dropout = 0.3, .seed = 1, .line = 2, .match_special_tokens = true});
          tokenizer.decode(ids);
          tokenizer.encode_pieces(text, {.mode = mode});
        });
      }
    accepts([&] { ids_of_post_processor(tokenizer); });
    BpeTokenizer::parse(tokenizer.to_json(), "written again");
    exercise_streaming_and_editing(tokenizer);
  });
}

inline Target tokenizer_json_target() {
  return {
      .name = "tokenizer_json",
      .exercise = exercise_tokenizer_json,
      .growths = {{"many pieces", "plain.json", many_pieces},
                  {"a long piece", "plain.json", long_piece},
                  {"a long added token", "plain.json", long_added_token, "looked for in texts"},
                  {"many added tokens", "plain.json", many_added_tokens}},
  };
}

}  // namespace dragoman::fuzz

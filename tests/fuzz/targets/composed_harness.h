#pragma once

#include "composed/composed_tokenizer.h"
#include "json/tokenizer_json.h"
#include "json_growth.h"
#include "target.h"

#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::fuzz {

/// Reads the text as a tokenizer.json of any parts and, if that works, uses it. True if it was one.
inline bool exercise_composed(std::string_view json) {
  using namespace tokenizer;
  return accepts([&] {
    auto definition = read_any_tokenizer_json(json, "fuzz");
    auto* composed = std::get_if<ComposedDefinition>(&definition);
    if (composed == nullptr) return;  // the target tokenizer_json's
    const ComposedTokenizer tokenizer(std::move(*composed), "fuzz");
    accepts([&] { ids_of_post_processor(tokenizer); });
    const std::string letters(json.size(), 'a');  // a text as long as the file, which a long piece would match
    for (const std::string_view text :
         {"", " the river  <s> <mask>don't 1234 ", "\xFF\xC3\xA9 e\xCC\x81 \xEF\xAC\x81\xE4\xB8\xAD",
          "aaaaaaaaaaaaaaaaaaaaaaaab", letters.c_str()}) {
      // Refused: a character that such a vocabulary has no way to write, a pattern that goes back too often.
      accepts([&] {
        const auto ids = tokenizer.encode(text, {.match_special_tokens = true});
        std::vector<std::int32_t> again;
        tokenizer.make_encoder({.match_special_tokens = true})->encode(text, 0, again);
        promise(again == ids, "an encoder gives the same ids");
        for (const std::int32_t id : ids) tokenizer.piece(id);
        tokenizer.decode(ids);
      });
    }
  });
}

/// Patterns of all kinds may be in it, each of which may go back as often as one may.
inline Target composed_target() {
  return {
      .name = "composed",
      .exercise = exercise_composed,
      .budget = {.milliseconds = 3000, .microseconds_per_byte = 25, .bytes_per_byte = 3072},
      .growths = {{"many pieces", "unigram", many_pieces},
                  {"many added tokens", "unigram", many_added_tokens},
                  {"a long piece", "unigram", long_piece, "looked for in texts"},
                  {"long pieces", "unigram", long_pieces},
                  {"a long added token", "unigram", long_added_token, "looked for in texts"},
                  {"a long template", "unigram", long_template}},
  };
}

}  // namespace dragoman::fuzz

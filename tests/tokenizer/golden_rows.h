#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/tokenizer/tokenizer.h>

namespace dragoman::testing {

/// What another program made of texts: `text`, `ids`, `ids_with_special` (where special tokens in the text are found)
/// and `decoded`. The tokenizer gives the same, and so does its encoder that remembers words.
inline void expect_rows(const tokenizer::Tokenizer& tokenizer, const core::Json& rows) {
  using Ids = std::vector<std::int32_t>;
  const auto encoder = tokenizer.make_encoder();
  for (const core::Json& row : rows) {
    const auto text = row["text"].get<std::string>();
    const auto ids = row["ids"].get<Ids>();
    EXPECT_EQ(tokenizer.encode(text), ids) << text;
    EXPECT_EQ(tokenizer.encode(text, {.match_special_tokens = true}), row["ids_with_special"].get<Ids>()) << text;
    EXPECT_EQ(tokenizer.decode(ids), row["decoded"].get<std::string>()) << text;
    Ids remembered;
    encoder->encode(text, 0, remembered);
    EXPECT_EQ(remembered, ids) << text;
  }
}

}  // namespace dragoman::testing

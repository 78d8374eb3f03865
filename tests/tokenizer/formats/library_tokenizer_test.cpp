#include "dragoman/tokenizer/library_tokenizer.h"

#include "error_message.h"
#include "formats_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr EncodeOptions kAsLibrary{.match_special_tokens = true};

const core::Json& golden(const char* file) {
  static std::map<std::string, core::Json> files;
  const auto [found, is_new] = files.try_emplace(file);
  if (is_new) found->second = core::load_json(testing::golden_file(file).string());
  return found->second;
}

/// A section of golden/library_offsets.json, which make_library_offsets_golden.py wrote.
class LibraryGolden : public ::testing::TestWithParam<const char*> {
 protected:
  static LibraryTokenizer open() {
    const core::Json& section = golden("library_offsets.json")[GetParam()];
    core::Json json = (section.contains("tokenizer") ? section : golden("composed.json")[GetParam()])["tokenizer"];
    json["post_processor"] = nullptr;
    return {json.dump(), "tokenizer.json"};
  }
  const core::Json& rows() const { return golden("library_offsets.json")[GetParam()]["rows"]; }
  const LibraryTokenizer tokenizer_ = open();
};

TEST_P(LibraryGolden, SameTokensOffsetsAndWordsAsTheLibrary) {
  ASSERT_GE(rows().size(), 15U);
  for (const core::Json& row : rows()) {
    const auto text = row["text"].get<std::string>();
    const auto tokens = tokenizer_.encode(text, kAsLibrary);
    core::Json ids = core::Json::array(), shown = ids, offsets = ids, words = ids;
    for (const auto& token : tokens) {
      ids.push_back(token.id);
      shown.push_back(token.text.empty() ? std::string(tokenizer_.ids()->piece(token.id)) : token.text);
      offsets.push_back({token.begin, token.end});
      words.push_back(token.word);
    }
    EXPECT_EQ(ids, row["ids"]) << text;
    EXPECT_EQ(shown, row["tokens"]) << text;
    EXPECT_EQ(offsets, row["offsets"]) << text;
    EXPECT_EQ(words, row["words"]) << text;
  }
}

TEST_P(LibraryGolden, SameIdsFromTheTokenizerForIds) {
  const auto encoder = tokenizer_.ids()->make_encoder(kAsLibrary);
  for (int round = 0; round < 2; ++round)  // words come from the cache the second time
    for (const core::Json& row : rows()) {
      std::vector<std::int32_t> ids;
      encoder->encode(row["text"].get<std::string>(), 0, ids);
      EXPECT_EQ(core::Json(ids), row["ids"]) << row["text"];
    }
}

INSTANTIATE_TEST_SUITE_P(Sections, LibraryGolden,
                         ::testing::Values("bytes_qwen2", "bytes_o200k", "bytes_lookaround", "xlm_roberta", "t5",
                                           "first", "uncased", "cased", "whole_words", "flags",
                                           "split_removed_inverted", "split_merged_with_previous", "split_contiguous",
                                           "drops", "drops_around_tokens", "spells_an_added_token", "prepends",
                                           "unigram_bytes", "unigram_unknown", "suffix", "replaces_nothing",
                                           "normalized_bytes"),
                         [](const auto& section) { return std::string(section.param); });

LibraryTokenizer open_words(const std::string& parts) {
  return {R"({"version": "1.0", "added_tokens": [{"id": 3, "content": "<s>", "special": true}], )" + parts +
              R"( "model": {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": 1, "b": 2}}})",
          "tokenizer.json"};
}

TEST(LibraryTokenizer, WordsAreThoseOfThePreTokenizer) {
  const auto tokenizer = open_words(R"("pre_tokenizer": {"type": "Whitespace"},)");
  EXPECT_THAT(tokenizer.words("é b,<s>", kAsLibrary),
              ElementsAre(LibraryTokenizer::Token{-1, 0, 0, 1, "é"}, LibraryTokenizer::Token{-1, 1, 2, 3, "b"},
                          LibraryTokenizer::Token{-1, 2, 3, 4, ","}, LibraryTokenizer::Token{3, 3, 4, 7, "<s>"}));
}

TEST(LibraryTokenizer, Normalizes) {
  EXPECT_EQ(open_words(R"("normalizer": {"type": "Lowercase"},)").normalize("ÄB"), "äb");
}

TEST(LibraryTokenizer, DecodesWithAndWithoutSpecialTokensAndIgnoresUnknownIds) {
  const auto tokenizer = open_words("");
  const std::vector<std::int32_t> ids{3, 1, -5, 2, 99};
  EXPECT_EQ(tokenizer.decode(ids, true), "<s> a b");
  EXPECT_EQ(tokenizer.decode(ids, false), "a b");
  EXPECT_EQ(tokenizer.decode({"x", "y"}), "x y");
}

TEST(LibraryTokenizer, DecodesAddedTokensAsTheNormalizerWritesThem) {
  // tokenizers 0.23.3: add_tokens(["Ahc", AddedToken("Cac", special=True, normalized=True)]) with Lowercase().
  const LibraryTokenizer tokenizer(
      R"({"version": "1.0", "normalizer": {"type": "Lowercase"}, "added_tokens": [
           {"id": 1, "content": "Ahc", "normalized": true},
           {"id": 2, "content": "Cac", "normalized": true, "special": true},
           {"id": 3, "content": "Eac", "normalized": false, "special": true}],
          "model": {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0}}})",
      "tokenizer.json");
  EXPECT_EQ(tokenizer.decode(std::vector<std::int32_t>{1, 2, 3}, true), "ahc cac Eac");
  EXPECT_EQ(tokenizer.decode(std::vector<std::int32_t>{1, 2, 3}, false), "ahc cac");
}

TEST(LibraryTokenizer, RefusesWhatTheTokenizerRefuses) {
  const auto message = testing::message_of([] { open_words(R"("pre_tokenizer": {"type": "UnicodeScripts"},)"); },
                                           ErrorCode::kUnsupported);
  EXPECT_THAT(message, HasSubstr("UnicodeScripts"));
}

}  // namespace
}  // namespace dragoman::tokenizer

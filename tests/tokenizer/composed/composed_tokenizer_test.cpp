#include "composed/composed_tokenizer.h"

#include "composed/character_kinds.h"
#include "error_message.h"
#include "formats_test_support.h"
#include "json/tokenizer_json.h"
#include "regex/matcher.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/white_space.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {
namespace {

using core::ErrorCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const core::Json& golden() {
  static const core::Json sections = core::load_json(testing::golden_file("composed.json").string());
  return sections;
}

std::unique_ptr<Tokenizer> open_json(const std::string& json) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "tokenizer.json", json);
  return load_tokenizer(folder / "tokenizer.json");
}

/// A section of golden/composed.json, which make_composed_golden.py wrote.
class ComposedGolden : public ::testing::TestWithParam<const char*> {
 protected:
  const core::Json& section() const { return golden()[GetParam()]; }
  const std::unique_ptr<Tokenizer> tokenizer_ = open_json(section()["tokenizer"].dump());
};

TEST_P(ComposedGolden, SameIdsAndTextAsTheLibrary) {
  ASSERT_GE(section()["rows"].size(), 100U);
  const auto encoder = tokenizer_->make_encoder();
  const auto with_special = tokenizer_->make_encoder({.match_special_tokens = true});
  for (const core::Json& row : section()["rows"]) {
    const auto text = row["text"].get<std::string>();
    const auto ids = row["ids"].get<std::vector<std::int32_t>>();
    EXPECT_EQ(tokenizer_->encode(text), ids) << text;
    std::vector<std::int32_t> again;
    encoder->encode(text, 0, again);
    EXPECT_EQ(again, ids) << text;
    again.clear();
    with_special->encode(text, 0, again);
    EXPECT_EQ(again, (row.contains("special_ids") ? row["special_ids"] : row["ids"]).get<std::vector<std::int32_t>>())
        << text;
    EXPECT_EQ(tokenizer_->decode(ids), row["decoded"].get<std::string>()) << text;
  }
}

TEST_P(ComposedGolden, PiecesStandInTheTextOneBehindTheOther) {
  for (const core::Json& row : section()["rows"]) {
    const auto text = row["text"].get<std::string>();
    std::size_t last = 0;
    for (const Piece& piece : tokenizer_->encode_pieces(text)) {
      EXPECT_LE(last, piece.begin) << text;
      EXPECT_LE(piece.begin, piece.end) << text;
      last = piece.end;
    }
    EXPECT_LE(last, text.size());
  }
}

TEST_P(ComposedGolden, AnyBytesAreEncoded) {
  for (const std::string text : {"\xFF", "a\xC3 b", "\xE2\x96", "\xED\xA0\x80x", "\xF0\x9F\x98 the"}) {
    const auto ids = tokenizer_->encode(text, {.match_special_tokens = true});
    tokenizer_->decode(ids);
    std::vector<std::int32_t> again;
    tokenizer_->make_encoder({.match_special_tokens = true})->encode(text, 0, again);
    EXPECT_EQ(again, ids);
  }
}

INSTANTIATE_TEST_SUITE_P(Sections, ComposedGolden,
                         ::testing::Values("bytes_qwen2", "bytes_o200k", "bytes_lookaround", "xlm_roberta", "t5",
                                           "first", "uncased", "cased", "whole_words", "flags",
                                           "split_removed_inverted", "split_merged_with_previous", "split_contiguous"),
                         [](const auto& section) { return std::string(section.param); });

TEST(ComposedTokenizer, BytesComeBackAsTheyAre) {
  const auto tokenizer = open_json(golden()["bytes_o200k"]["tokenizer"].dump());
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::string text(random() % 40, ' ');
    for (char& c : text) c = static_cast<char>(random() % 3 == 0 ? 'a' + random() % 26 : random());
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
  }
}

TEST(ComposedTokenizer, ClassesHoldTheCharactersThatTheyHoldInTheLibrary) {
  const std::pair<const char*, bool (*)(char32_t) noexcept> kClasses[] = {
      {"combining_mark", is_combining_mark},   {"nonspacing_mark", is_nonspacing_mark},
      {"removed_by_bert", is_removed_by_bert}, {"removed_by_nmt", is_removed_by_nmt},
      {"space_to_nmt", is_space_to_nmt},       {"chinese", is_chinese},
      {"punctuation", is_punctuation},         {"word", is_word_character},
      {"white_space", core::is_white_space}};
  for (const auto& [name, holds] : kClasses) {
    std::vector<bool> members(0x110000);
    for (const core::Json& range : golden()["classes"][name])
      for (auto c = range[0].get<std::size_t>(); c <= range[1].get<std::size_t>(); ++c) members[c] = true;
    for (char32_t c = 1; c < members.size(); ++c)
      ASSERT_TRUE((c >= 0xD800 && c < 0xE000) || holds(c) == members[c]) << name << " " << std::hex << +c;
  }
}

std::string word_level(const std::string& parts) {
  return R"({"version": "1.0", "added_tokens": [], )" + parts +
         R"( "model": {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": 1, "b": 2, "a b": 3}}})";
}

TEST(ComposedTokenizer, WithoutADecoderPiecesAreJoinedBySpaces) {
  const auto tokenizer = open_json(word_level(R"("pre_tokenizer": {"type": "Whitespace"},)"));
  EXPECT_EQ(tokenizer->encode("a  b!c"), (std::vector<std::int32_t>{1, 2, 0, 0}));
  EXPECT_EQ(tokenizer->decode(std::vector{1, 2, 0}), "a b u");
  EXPECT_EQ(open_json(word_level(""))->encode("a b"), std::vector<std::int32_t>{3});
}

/// Offsets of tokenizers 0.23, in bytes.
TEST(ComposedTokenizer, CharactersThatGetSpacesAroundThemHaveTheirBytes) {
  const auto tokenizer = open_json(R"({"version": "1.0", "added_tokens": [],
      "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "lowercase": true,
                     "strip_accents": null},
      "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null,
      "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
      "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "\u4e2d": 1, "\u6587": 2, "tok": 3}}})");
  EXPECT_THAT(tokenizer->encode_pieces("\u4E2D\u6587 tok\u4E2D"),
              ElementsAre(Piece{1, 0, 3}, Piece{2, 3, 6}, Piece{3, 7, 10}, Piece{1, 10, 13}));
}

TEST(ComposedTokenizer, ReadersNameWhatTheyDoNotKnow) {
  const auto error = [](const std::string& parts) { return testing::error_of([&] { open_json(word_level(parts)); }); };
  EXPECT_THAT(error(R"("pre_tokenizer": {"type": "UnicodeScripts"},)"),
              HasSubstr("the pre-tokenizer 'UnicodeScripts'"));
  EXPECT_THAT(error(R"("normalizer": {"type": "Fold"},)"), HasSubstr("the normalizer 'Fold'"));
  EXPECT_THAT(error(R"("decoder": {"type": "CTC"},)"), HasSubstr("the decoder 'CTC'"));
  EXPECT_THAT(error(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"},)"),
              HasSubstr("the pattern '(a'"));
  EXPECT_THAT(error(R"("pre_tokenizer": {"type": "Split", "pattern": {"String": "a"}, "behavior": "Odd"},)"),
              HasSubstr("behavior: 'Odd'"));
  EXPECT_THAT(error(R"("post_processor": {"type": "Odd"},)"), HasSubstr("the post-processor 'Odd'"));
}

/// tiktoken takes what its pattern finds, and nothing else.
TEST(ComposedTokenizer, RanksMayHaveAnyPattern) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "ranks", example_of(FileKind::kTiktoken).content);
  const auto open = [&](const std::string& pattern) {
    return open_tokenizer_file(folder / "ranks", {.expression = word_expression(pattern)});
  };
  EXPECT_EQ(open("[a-z]+")->encode("the 1"), (std::vector<std::int32_t>{256, 'e'}));
  EXPECT_EQ(open("o200k")->encode("the 1"), (std::vector<std::int32_t>{256, 'e', ' ', '1'}));
  EXPECT_EQ(open("o200k")->decode(std::vector{256, 0xC3, 0xA9}), "th\xC3\xA9");
  EXPECT_THAT(testing::message_of([&] { open("gpt3"); }, ErrorCode::kInvalidArgument), HasSubstr("o200k or a regular"));
  EXPECT_THAT(testing::message_of([&] { read_tokenizer_file(folder / "ranks", {.expression = "a+"}); },
                                  ErrorCode::kUnsupported),
              HasSubstr("cannot be converted"));
}

TEST(ComposedTokenizer, CannotBeConverted) {
  const std::string json = golden()["xlm_roberta"]["tokenizer"].dump();
  EXPECT_THAT(testing::message_of([&] { read_tokenizer_json(json, "x"); }, ErrorCode::kUnsupported),
              HasSubstr("a model of the type 'Unigram' has no merges"));
}

TEST(ComposedTokenizer, APatternThatGoesBackForeverIsAnError) {
  const auto tokenizer = open_json(
      word_level(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+\\1c"}, "behavior": "Isolated"},)"));
  EXPECT_THAT(testing::error_of([&] { tokenizer->encode(std::string(60, 'a')); }),
              HasSubstr("the pattern '(a+)+\\1c' gives up on a text of 60 bytes"));
}

/// A pattern whose search takes quadratic time. The pieces of the tokenizer are the added token "|" and a text that
/// takes nearly all steps that a text of its length may take.
class SearchesOfOneText : public ::testing::Test {
 protected:
  static constexpr const char* kPattern = "(?=a*b)a";
  static constexpr int kParts = 50;

  static bool takes_too_many_steps(const std::string& text) {
    try {
      Matcher(kPattern).for_each(text, [](std::size_t, std::size_t) {});
      return false;
    } catch (const core::Error&) {
      return true;
    }
  }

  SearchesOfOneText() {
    while (!takes_too_many_steps(dear_ + std::string(dear_.size() / 8, 'a'))) dear_.append(dear_.size() / 8, 'a');
    definition_.pieces = {dear_, "|", "<unk>"};
    definition_.listed = {true, false, true};
    definition_.added_tokens = {{.id = 1, .text = "|"}};
    definition_.model = WholeWords{.unknown = 2};
  }

  std::string text_of(int parts) const {
    std::string text = dear_;
    for (int i = 1; i < parts; ++i) text += "|" + dear_;
    return text;
  }

  /// Encodes and decodes a text of one part, and then returns the message about many.
  std::string message_about_many(const std::function<void(const ComposedTokenizer&, int)>& use) const {
    const ComposedTokenizer tokenizer(definition_, "tokenizer");
    EXPECT_NO_THROW(use(tokenizer, 1));
    return testing::message_of([&] { use(tokenizer, kParts); });
  }

  std::string dear_ = std::string(64, 'a');
  ComposedDefinition definition_;
};

TEST_F(SearchesOfOneText, ShareABudgetBetweenAddedTokens) {
  const auto encode = [&](const ComposedTokenizer& tokenizer, int parts) { tokenizer.encode(text_of(parts)); };
  definition_.pre_tokenizer = {{.kind = PreTokenizerStep::Kind::kSplitPattern, .text = kPattern}};
  EXPECT_THAT(message_about_many(encode), HasSubstr("too many steps"));
  definition_.pre_tokenizer.clear();
  definition_.normalizer = {TextStep{.kind = TextStep::Kind::kReplaceMatches, .pattern = kPattern, .content = "b"}};
  EXPECT_THAT(message_about_many(encode), HasSubstr("too many steps"));
}

TEST_F(SearchesOfOneText, ShareABudgetBetweenSteps) {
  definition_.pre_tokenizer.assign(kParts, {.kind = PreTokenizerStep::Kind::kSplitPattern, .text = kPattern});
  const ComposedTokenizer tokenizer(definition_, "tokenizer");
  EXPECT_THAT(testing::message_of([&] { tokenizer.encode(dear_); }), HasSubstr("too many steps"));
}

TEST_F(SearchesOfOneText, ShareABudgetInDecoding) {
  definition_.decoder = {{.kind = DecoderStep::Kind::kReplaceMatches, .pattern = kPattern, .content = "b"}};
  const auto decode = [&](const ComposedTokenizer& tokenizer, int parts) {
    tokenizer.decode(std::vector<std::int32_t>(static_cast<std::size_t>(parts), 0));
  };
  EXPECT_THAT(message_about_many(decode), HasSubstr("too many steps"));
}

TEST_F(SearchesOfOneText, ShareABudgetWhenATokenizerIsOpened) {
  definition_.normalizer = {TextStep{.kind = TextStep::Kind::kReplaceMatches, .pattern = kPattern, .content = "b"}};
  for (int i = 0; i < kParts; ++i) {
    const auto id = static_cast<std::int32_t>(definition_.pieces.size());
    definition_.added_tokens.push_back({.id = id, .text = dear_ + std::to_string(i), .normalized = true});
    definition_.pieces.push_back(definition_.added_tokens.back().text);
    definition_.listed.push_back(false);
    if (i > 0) continue;
    EXPECT_NO_THROW(ComposedTokenizer(definition_, "tokenizer"));
  }
  EXPECT_THAT(testing::message_of([&] { ComposedTokenizer(definition_, "tokenizer"); }), HasSubstr("too many steps"));
}

}  // namespace
}  // namespace dragoman::tokenizer

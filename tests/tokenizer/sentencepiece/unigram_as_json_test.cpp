#include "formats_test_support.h"
#include "test_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<std::int32_t>;
using Type = UnigramPiece::Type;

UnigramDefinition unigram_of(const std::string& name) {
  return std::get<UnigramDefinition>(read_any_tokenizer_file(testing::sentencepiece_model(name)));
}

/// Texts of other kinds are left out, which difference_when_written() names.
bool is_written_alike(const std::string& text) {
  if (core::find_invalid_utf8(text) != std::string::npos) return false;
  for (std::size_t at = 0; at < text.size();) {
    const core::DecodedCharacter c = core::decode_utf8(text, at);
    if (c.code_point >= 0x0300) return false;  // marks that join clusters, and what the map has for others
    if (c.code_point < 0x20) return false;  // of a text that the map makes nothing of, SentencePiece keeps the prefix
    at += c.length;
  }
  for (const char* special : {"<0x", "<s>", "</s>", "<unk>", "<pad>"})
    if (text.find(special) != std::string::npos) return false;
  return true;
}

/// The ids of SentencePiece, which golden/make_unigram_golden.py wrote. golden/check_conversions.py lets the library
/// tokenizers read such a file.
class UnigramAsJson : public ::testing::TestWithParam<const char*> {};

TEST_P(UnigramAsJson, HasTheIdsOfTheModel) {
  const testing::TemporaryFolder folder;
  write_tokenizer_file(unigram_of(GetParam()), FileKind::kTokenizerJson, folder / "tokenizer.json");
  const auto written = load_tokenizer(folder / "tokenizer.json");
  const auto original = load_tokenizer(testing::sentencepiece_model(GetParam()));
  ASSERT_EQ(written->size(), original->size());
  for (std::int32_t id = 0; id < written->size(); ++id) {
    EXPECT_EQ(written->piece(id), original->piece(id));
    EXPECT_EQ(written->is_special(id), original->is_special(id));
  }
  int compared = 0;
  const core::Json golden = core::load_json(testing::golden_file("unigram.json").string());
  for (const core::Json& row : golden[GetParam()]) {
    const auto text = row["text"].get<std::string>();
    // The map of unigram_map has a rule for these letters and a space, which are several clusters.
    if (!is_written_alike(text) || (GetParam() == std::string("unigram_map") && text.find("the") != std::string::npos))
      continue;
    const Ids ids = row["ids"].get<Ids>();
    EXPECT_EQ(written->encode(text), ids) << row["text"];
    const bool unknown = std::ranges::find(ids, original->id("<unk>").value_or(-1)) != ids.end();
    if (!unknown) {
      EXPECT_EQ(written->decode(ids), original->decode(ids)) << row["text"];
    }
    ++compared;
  }
  EXPECT_GT(compared, 30);
}

INSTANTIATE_TEST_SUITE_P(Models, UnigramAsJson,
                         ::testing::Values("unigram_plain", "unigram_bytes", "unigram_no_prefix", "unigram_map"),
                         dragoman::testing::kParameterName);

TEST(UnigramToJson, WhatItDoesOtherwiseIsSaid) {
  EXPECT_EQ(difference_when_written(unigram_of("unigram_map"), FileKind::kSentencePiece), "");
  EXPECT_THAT(difference_when_written(unigram_of("unigram_map"), FileKind::kTokenizerJson),
              HasSubstr("clusters of characters"));
  EXPECT_THAT(difference_when_written(unigram_of("unigram_plain"), FileKind::kTokenizerJson),
              HasSubstr("`<unk>` decodes to nothing"));
}

TEST(UnigramToJson, WhatItHasNoFormForIsRefused) {
  const testing::TemporaryFolder folder;
  const auto error = [&](UnigramDefinition definition, auto change) {
    change(definition);
    return testing::error_of([&] { write_tokenizer_file(definition, FileKind::kTokenizerJson, folder / "t.json"); });
  };
  const UnigramDefinition plain = unigram_of("unigram_plain");
  EXPECT_EQ(error(plain, [](auto&) {}), "no error");
  EXPECT_THAT(error(plain, [](auto& d) { d.space_as_suffix = true; }), HasSubstr("marks the ends of words"));
  EXPECT_THAT(error(plain, [](auto& d) { d.escape_spaces = false; }), HasSubstr("pieces with spaces"));
  EXPECT_THAT(error(plain,
                    [](auto& d) {
                      d.pieces.push_back({"\u4E00\u4E8C", -3, Type::kNormal});
                    }),
              HasSubstr("holds the character '\u4E00', which is no piece itself"));
  EXPECT_THAT(error(plain,
                    [](auto& d) {
                      d.pieces.push_back({"a  a", 0, Type::kUserDefined});
                    }),
              HasSubstr("which is no piece itself"));
  EXPECT_THAT(error(unigram_of("unigram_map"),
                    [](auto& d) {
                      d.pieces.push_back({"\uFB01", 0, Type::kUserDefined});
                    }),
              HasSubstr("would change the user-defined symbol"));
  EXPECT_THAT(testing::error_of([&] { write_tokenizer_file(plain, FileKind::kTiktoken, folder / "x"); }),
              HasSubstr("write sentencepiece or tokenizer-json"));
}

/// A model of merges with a map: golden/check_conversions.py, too.
TEST(UnigramToJson, MergesWithAMapAreWrittenAsWell) {
  const testing::TemporaryFolder folder;
  core::Json golden = core::load_json(testing::golden_file("sentencepiece_bpe.json").string());
  golden.update(core::load_json(testing::golden_file("unigram.json").string()));
  for (const char* name : {"bpe_map", "bpe_map_keeps_spaces", "bpe_map_no_prefix", "bpe_wide_map"}) {
    const BpeDefinition read = read_tokenizer_file(testing::sentencepiece_model(name));
    EXPECT_THAT(difference_when_written(read, FileKind::kTokenizerJson), HasSubstr("clusters of characters")) << name;
    write_tokenizer_file(read, FileKind::kTokenizerJson, folder / "t.json");
    const auto written = load_tokenizer(folder / "t.json");
    int compared = 0;
    for (const core::Json& row : golden[name]) {
      const auto text = row["text"].get<std::string>();
      // These maps have rules for the letters "the" and a space and so on, which are several clusters.
      if (!is_written_alike(text) || text.find("the") != std::string::npos || text.find('\'') != std::string::npos)
        continue;
      EXPECT_EQ(written->encode(text), row["ids"].get<Ids>()) << name << ' ' << row["text"];
      ++compared;
    }
    EXPECT_GT(compared, 30) << name;
  }
}

}  // namespace
}  // namespace dragoman::tokenizer

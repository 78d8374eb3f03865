#include "normalizing/character_map.h"

#include "formats_test_support.h"
#include "normalizing/sentencepiece_normalizer.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::HasSubstr;

/// The map of a model that the library trained with rules of our own; golden/make_unigram_golden.py lists them.
std::string golden_map() {
  const BpeDefinition model = read_tokenizer_file(testing::golden_file("sentencepiece_bpe_map.model"));
  return std::get<SentencePieceText>(model.text).normalization.character_map;
}

TEST(CharacterMap, TheLongestRuleApplies) {
  const CharacterMap map(golden_map(), "map");
  const auto look = [&](std::string_view text) {
    const CharacterMap::Match match = map.longest_prefix(text);
    return fmt::format("{}:{}", match.replacement, match.length);
  };
  EXPECT_EQ(look("A"), "a:1");
  EXPECT_EQ(look("Ax"), "a:1");
  EXPECT_EQ(look("A\xCC\x8A"), "\xC3\x85:3");
  EXPECT_EQ(look("A\xCC\x81"), "a:1");
  EXPECT_EQ(look("the river"), "THE :4");
  EXPECT_EQ(look("the"), ":0");
  EXPECT_EQ(look("\x01"), ":1");
  EXPECT_EQ(look("\xEF\xAC\x81"), "fi:3");
  EXPECT_EQ(look("x"), ":0");
  EXPECT_EQ(look(""), ":0");
}

SentencePieceNormalizer only_map(const std::string& map) {
  return {{.character_map = map, .dummy_prefix = false, .remove_extra_spaces = false}, {}, "normalizer"};
}

TEST(CharacterMap, OffsetsGoThroughTheMap) {
  AlignedText text;
  only_map(golden_map())
      .apply(
          "x\xEF\xAC\x81\x01"
          "e\xCC\x81\xFF",
          10, true, text);
  EXPECT_EQ(text.text, "xfi\xC3\xA9\xEF\xBF\xBD");
  EXPECT_EQ(text.origin, (std::vector<std::size_t>{10, 11, 11, 15, 15, 18, 18, 18, 19}));
}

std::string error_of_map(const std::string& bytes) {
  return testing::error_of([&] { CharacterMap(bytes, "map"); });
}

TEST(CharacterMap, EveryIndexIsChecked) {
  std::string map = golden_map();
  EXPECT_EQ(error_of_map(map), "no error");
  EXPECT_THAT(error_of_map(""), HasSubstr("map: a character map of 0 bytes"));
  EXPECT_THAT(error_of_map(map.substr(0, 100)), HasSubstr("says that its table has"));
  EXPECT_THAT(error_of_map(std::string("\x03\0\0\0abcdefg", 11)), HasSubstr("table has 3 bytes"));
  EXPECT_THAT(error_of_map(map + "\xFF"), HasSubstr("not valid UTF-8"));
  std::string far = map;
  far[4 + 3] = '\x7F';  // the offset of the root
  EXPECT_THAT(error_of_map(far), HasSubstr("unit 0 of the character map leads to unit"));
  std::string no_root = map;
  no_root[4 + 3] = static_cast<char>(no_root[4 + 3] | '\x80');
  EXPECT_THAT(error_of_map(no_root), HasSubstr("no root"));
}

TEST(CharacterMap, ChangedMapsAreReadWithinTheirBoundsOrRefused) {
  const std::string map = golden_map();
  std::mt19937 random(11);
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string changed = map;
    for (int n = 0; n < 3; ++n) changed[4 + random() % (changed.size() - 4)] = static_cast<char>(random());
    try {
      const CharacterMap read(changed, "map");
      for (const std::string_view text : {"A\xCC\x8A the", "\xEF\xBC\xA1\xE3\x80\x80", "\xC2\xBD", "xyz"})
        for (std::size_t at = 0; at < text.size(); ++at)
          EXPECT_LE(read.longest_prefix(text.substr(at)).length, text.size() - at);
      ++accepted;
    } catch (const core::Error&) {
      ++refused;
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

/// A map with one rule: the children of the node at each depth have a block of 256 units of their own.
std::string map_of_one_rule(std::string_view from, const std::string& to) {
  constexpr std::uint32_t kFree = 0x80000000U;
  std::vector<std::uint32_t> units((from.size() + 2) * 256, kFree);
  std::uint32_t node = 0;
  for (std::uint32_t depth = 0; depth <= from.size(); ++depth) {
    const std::uint32_t children = (depth + 1) * 256;
    const std::uint32_t label = depth == 0 ? 0 : static_cast<unsigned char>(from[depth - 1]);
    units[node] = (node ^ children) << 10 | (depth == from.size() ? 1U << 8 : 0) | label;
    if (depth == from.size()) units[children] = kFree;  // the value: the replacement at 0
    if (depth < from.size()) node = children ^ static_cast<unsigned char>(from[depth]);
  }
  std::string bytes;
  const auto append = [&](std::uint32_t value) {
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  };
  append(static_cast<std::uint32_t>(units.size() * 4));
  for (const std::uint32_t unit : units) append(unit);
  return bytes + to + '\0';
}

TEST(CharacterMap, AMapThatMakesTextMuchLongerIsStopped) {
  const std::string bytes = map_of_one_rule("ab", std::string(10000, 'x'));
  const CharacterMap map(bytes, "map");
  EXPECT_EQ(map.longest_prefix("abc").replacement.size(), 10000U);
  EXPECT_EQ(map.longest_prefix("ac").length, 0U);
  AlignedText out;
  EXPECT_THAT(testing::error_of([&] { only_map(bytes).apply("ababab", 0, false, out); }), HasSubstr("times as long"));
  UnigramDefinition definition{.pieces = {{"<unk>", 0, UnigramPiece::Type::kUnknown}, {"x"}}, .character_map = bytes};
  const UnigramTokenizer tokenizer(definition);
  EXPECT_THAT(testing::error_of([&] { tokenizer.encode("ababab"); }), HasSubstr("times as long"));
}

}  // namespace
}  // namespace dragoman::tokenizer

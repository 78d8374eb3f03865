#include "normalizing/character_rules.h"

#include "error_message.h"
#include "normalizing/character_map.h"
#include "normalizing/sentencepiece_normalizer.h"
#include "test_data.h"

#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/character_maps.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::HasSubstr;

/// As make_character_maps_golden.py draws strings and adds them up.
class Fingerprint {
 public:
  explicit Fingerprint(std::string map)
      : normalizer_({.character_map = std::move(map),
                     .dummy_prefix = false,
                     .remove_extra_spaces = false,
                     .escape_spaces = false},
                    {}, "map") {}

  std::string of_everything() {
    for (char32_t c = 1; c < 0x110000; ++c) {
      if (c >= 0xD800 && c <= 0xDFFF) continue;
      std::string text = "a";
      core::append_utf8(text, c);
      add(text + "b");
    }
    constexpr std::pair<char32_t, char32_t> kRanges[] = {
        {0x41, 0x5A},       {0x61, 0x7A},       {0x300, 0x345},     {0x1100, 0x11FF},  {0xAC00, 0xAC80},
        {0x3040, 0x309F},   {0x3099, 0x30FF},   {0xFF00, 0xFFEF},   {0xFB50, 0xFDFF},  {0xF900, 0xFAFF},
        {0x900, 0xDFF},     {0x1F00, 0x1FFF},   {0x2000, 0x206F},   {0x1, 0x20},       {0x1CCD6, 0x1CCF9},
        {0x11380, 0x113C9}, {0x1611E, 0x16129}, {0x16D63, 0x16D6A}, {0x1E030, 0x1E06D}};
    constexpr int kStrings = 200'000;
    for (int i = 0; i < kStrings; ++i) {
      std::string text;
      for (std::uint64_t left = 1 + draw(6); left > 0; --left) {
        const auto [first, last] = kRanges[draw(std::size(kRanges))];
        core::append_utf8(text, first + static_cast<char32_t>(draw(last - first + 1)));
      }
      add(text);
    }
    return fmt::format("{:016x}", value_);
  }

 private:
  std::uint64_t draw(std::uint64_t bound) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 33) % bound;
  }
  void add(const std::string& text) {
    AlignedText out;
    normalizer_.apply(text, 0, false, out);
    out.text += '\n';
    for (const char c : out.text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  }

  SentencePieceNormalizer normalizer_;
  std::uint64_t state_ = 1;
  std::uint64_t value_ = 0xCBF29CE484222325U;
};

TEST(CharacterRules, NormaliseEveryCharacterAsSentencePieceDoes) {
  const auto golden = core::parse_json(core::read_file(testing::golden_file("character_maps.json"), 1 << 20), "golden");
  for (const auto& [name, fingerprint] : golden.items()) {
    const std::string map =
        name.ends_with(".tsv") ? make_character_map_of_rules(core::read_file(testing::golden_file(name), 1 << 20), name)
                               : make_character_map(name);
    EXPECT_EQ(Fingerprint(map).of_everything(), fingerprint.get<std::string>()) << name;
  }
}

TEST(CharacterRules, IdentityIsNoMap) {
  EXPECT_EQ(make_character_map("identity"), "");
  EXPECT_THAT(testing::error_of([] { make_character_map("nfc"); }), HasSubstr("nmt_nfkc, nfkc"));
}

/// Random rules, looked up in the map and by trying every prefix.
TEST(CharacterRules, TheMapFindsTheLongestRule) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto random_text = [&](std::size_t least, std::size_t most) {
      constexpr char32_t kCharacters[] = {U'a', U'b', U'\u00E4', U'\u4E00', U'\U0001F600', U'\U0001F601'};
      std::u32string text(least + random() % (most - least + 1), U' ');
      for (char32_t& c : text) c = kCharacters[random() % std::size(kCharacters)];
      return text;
    };
    const auto utf8 = [](std::u32string_view text) {
      std::string out;
      for (const char32_t c : text) core::append_utf8(out, c);
      return out;
    };
    CharacterRules rules;
    for (std::size_t i = 1 + random() % 40; i > 0; --i) rules[random_text(1, 5)] = random_text(0, 3);
    const CharacterMap map(build_character_map(rules), "map");
    for (int i = 0; i < 100; ++i) {
      const std::u32string text = random_text(1, 8);
      std::size_t length = text.size();
      while (length > 0 && !rules.contains(text.substr(0, length))) --length;
      const CharacterMap::Match match = map.longest_prefix(utf8(text));
      EXPECT_EQ(match.length, utf8(text.substr(0, length)).size());
      if (length > 0) {
        EXPECT_EQ(match.replacement, utf8(rules[text.substr(0, length)]));
      }
    }
    EXPECT_EQ(map.longest_prefix(std::string(1, '\0')).length, 0U);
    EXPECT_FALSE(map.has_rule_over(' '));
  }
  EXPECT_TRUE(CharacterMap(build_character_map({{U"a b", U""}}), "map").has_rule_over(' '));
  EXPECT_FALSE(CharacterMap(build_character_map({{U" ", U"x"}}), "map").has_rule_over(' ')) << "by itself";
}

/// The map shares how rules go on, whether they have a space in front or not.
TEST(CharacterRules, RulesOverASpaceAreFoundAmongOthersThatGoOnAlike) {
  EXPECT_TRUE(CharacterMap(build_character_map({{U" \n", U" "}}), "map").has_rule_over(' '));
  EXPECT_TRUE(CharacterMap(build_character_map({{U" \n", U" "}, {U"\u00A0\n", U" "}}), "map").has_rule_over(' '));
  std::mt19937 random(13);
  int found = 0;
  for (int round = 0; round < 2000; ++round) {
    constexpr char32_t kCharacters[] = {U'a', U'b', U'c', U'\u00A0', U'\u4E00', U' '};
    CharacterRules rules;
    const std::size_t characters = std::size(kCharacters) - (round % 4 == 0 ? 1 : 0);
    for (std::size_t i = 1 + random() % 12; i > 0; --i) {
      std::u32string text(1 + random() % 3, U'a');
      for (char32_t& c : text) c = kCharacters[random() % characters];
      rules[text] = U"x";  // one replacement: as much is shared as can be
    }
    const bool over = std::ranges::any_of(
        rules, [](const auto& rule) { return rule.first.size() > 1 && rule.first.find(U' ') != std::u32string::npos; });
    found += over ? 1 : 0;
    EXPECT_EQ(CharacterMap(build_character_map(rules), "map").has_rule_over(' '), over) << round;
  }
  EXPECT_GT(found, 500);
  EXPECT_LT(found, 1500);
}

TEST(CharacterRules, LinesThatAreNoRulesAreNamed) {
  const auto error = [](const std::string& tsv) {
    return testing::error_of([&] { parse_character_rules(tsv, "rules.tsv"); });
  };
  EXPECT_EQ(parse_character_rules("41 42\t61\r\n\n43\n44\t\tremark\n", "r"),
            (CharacterRules{{U"AB", U"a"}, {U"C", U""}, {U"D", U""}}));
  EXPECT_THAT(error("41\t61\nA\xC3\x84\t61\n"), HasSubstr("rules.tsv: line 2"));
  EXPECT_THAT(error("D800\t61\n"), HasSubstr("D800"));
  EXPECT_THAT(error("110000\n"), HasSubstr("110000"));
  EXPECT_THAT(error("0\n"), HasSubstr("hexadecimal"));
  EXPECT_THAT(error("41 U+42\t61\n"), HasSubstr("U+42"));
  EXPECT_THAT(error("\t61\n"), HasSubstr("no code points before the tab"));
  EXPECT_THAT(error("41\t61\n41\t62\n"), HasSubstr("line 2: an earlier line"));
  EXPECT_THAT(error("\n\n"), HasSubstr("no rules"));
  std::string longest;
  for (int i = 0; i < 33; ++i) longest += "41 ";
  EXPECT_THAT(error(longest + "\t61\n"), HasSubstr("too long"));
}

}  // namespace
}  // namespace dragoman::tokenizer

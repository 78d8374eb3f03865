#include "dragoman/tokenizer/text_normalizer.h"

#include "formats_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/tokenizer/character_maps.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The expected values are those of sentencepiece 0.2.3: SentencePieceProcessor.Normalize(text, with_offsets=True) with
/// texts as bytes.
TEST(TextNormalizer, OffsetsAreTheLibrarys) {
  const TextNormalizer normalizer({.character_map = make_character_map("nmt_nfkc")});
  const NormalizedText wide = normalizer.normalize(
      "\xEF\xBC\xAB\xEF\xBC\xA1"
      "B");
  EXPECT_EQ(wide.text, "\xE2\x96\x81KAB");
  EXPECT_THAT(wide.origin, ElementsAre(0, 0, 0, 0, 3, 6, 7));
  // The era name U+337B becomes two characters.
  const NormalizedText era = normalizer.normalize("\xE3\x8D\xBB");
  EXPECT_EQ(era.text, "\xE2\x96\x81\xE5\xB9\xB3\xE6\x88\x90");
  EXPECT_THAT(era.origin, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 3));
}

TEST(TextNormalizer, SymbolsAndSettingsOfSpacesAreRespected) {
  const TextNormalizer normalizer({.character_map = make_character_map("nfkc_cf"),
                                   .dummy_prefix = false,
                                   .remove_extra_spaces = false,
                                   .escape_spaces = false},
                                  {"<A>"});
  EXPECT_EQ(normalizer.normalize("A <A>  B").text, "a <A>  b");
  EXPECT_THAT(normalizer.normalize("A B").origin, ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(normalizer.normalize("").text.empty());
  EXPECT_THAT(normalizer.normalize("").origin, ElementsAre(0));
}

TEST(TextNormalizer, DamagedMapsAndEmptySymbolsAreErrors) {
  EXPECT_THAT(testing::error_of([] { TextNormalizer({.character_map = "xyz"}, {}, "rules"); }), HasSubstr("rules"));
  EXPECT_THAT(testing::error_of([] { TextNormalizer({}, {""}, "rules"); }), HasSubstr("rules: a user-defined symbol"));
}

}  // namespace
}  // namespace dragoman::tokenizer

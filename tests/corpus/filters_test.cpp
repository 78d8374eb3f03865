#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/corpus/filters.h>

namespace dragoman::corpus {
namespace {

std::optional<Reason> judged(std::string_view source, std::string_view target, const FilterOptions& options = {},
                             Script source_script = 0) {
  PairFilter filter(options, {}, {});
  filter.set_scripts(source_script, 0);
  return filter.judge(source, filter.source_profile(source), target, filter.target_profile(target));
}

TEST(TextProfile, CountsCharactersWordsAndLetters) {
  const TextProfile profile = profile_of("Grüße 12 x\u00A0y");
  EXPECT_EQ(profile.characters, 12U);
  EXPECT_EQ(profile.words, 4U) << "a no-break space is white space";
  EXPECT_EQ(profile.longest_word, 5U);
  EXPECT_EQ(profile.letters, 7U);
  EXPECT_EQ(profile.digits, 2U);
  EXPECT_EQ(profile.spaces, 3U);
  EXPECT_EQ(profile.scripts[find_script("Latin")], 7U);
}

TEST(TextProfile, CharactersOfScriptsWithoutSpacesAreWords) {
  const TextProfile profile = profile_of("日本語です a");
  EXPECT_EQ(profile.words, 6U);
  EXPECT_EQ(profile.scripts[find_script("Hira")], 5U) << "kana and Han are one";
  EXPECT_EQ(find_script("Han"), find_script("Katakana"));
}

TEST(TextProfile, DamagedBytesAreControls) {
  EXPECT_EQ(profile_of("a\xFFz").controls, 1U);
  EXPECT_EQ(profile_of("a\x01z").controls, 1U);
  EXPECT_EQ(profile_of("a\tz").controls, 0U) << "a tab is white space";
}

TEST(PairFilter, NamesTheFirstReason) {
  EXPECT_EQ(judged("ein Haus", "a house"), std::nullopt);
  EXPECT_EQ(judged("  ", "a house"), Reason::kEmpty);
  EXPECT_EQ(judged("ein Haus", "a house", {.minimum_length = 3}), Reason::kTooShort);
  EXPECT_EQ(judged("ein Haus", "a red house", {.maximum_length = 2}), Reason::kTooLong);
  EXPECT_EQ(judged("ein", "a b c d", {.maximum_ratio = 3}), Reason::kLengthRatio);
  EXPECT_EQ(judged("ein", "a b c", {.maximum_ratio = 3}), std::nullopt) << "three times as long is allowed";
  EXPECT_EQ(judged("gleich", "gleich"), Reason::kIdentical);
  EXPECT_EQ(judged(std::string(41, 'x'), "a"), Reason::kLongWord);
  EXPECT_EQ(judged("ein\x02 Haus", "a house"), Reason::kControl);
  EXPECT_EQ(judged("!!! ??? a", "a house"), Reason::kFewLetters);
  EXPECT_EQ(judged("дом стоит", "a house", {}, find_script("Latin")), Reason::kOtherScript);
  EXPECT_EQ(judged("um 7 Uhr", "at 8 sharp", {.minimum_numbers = 0.5}), Reason::kNumbers);
  EXPECT_EQ(judged("siehe www.example.org", "see it", {.drop_urls = true}), Reason::kUrl);
  EXPECT_EQ(judged("ein <b>Haus</b>", "a house", {.drop_markup = true}), Reason::kMarkup);
}

TEST(LikenessOfNumbers, IsDicesCoefficient) {
  EXPECT_EQ(likeness_of_numbers("keine", "none"), 1);
  EXPECT_EQ(likeness_of_numbers("1.000 und 7", "1,000 and 7"), 1);
  EXPECT_EQ(likeness_of_numbers("5", "none"), 0);
  EXPECT_DOUBLE_EQ(likeness_of_numbers("3 4", "4 5"), 0.5);
  EXPECT_EQ(likeness_of_numbers("007", "7"), 1);
  EXPECT_EQ(likeness_of_numbers("٤٢", "42"), 1) << "Arabic-Indic digits";
}

TEST(HasUrl, FindsAddressesOnly) {
  for (const char* text : {"http://a.b", "see www.example.com", "mail to a.b@example.org."})
    EXPECT_TRUE(has_url(text)) << text;
  for (const char* text : {"a: b", "awww. nice", "me @home", "1 @ 2.50", "http:"}) EXPECT_FALSE(has_url(text)) << text;
}

TEST(HasMarkup, FindsTagsAndReferences) {
  for (const char* text : {"<br/>", "<a href=\"x\">", "</p>", "x &amp; y", "&#39;", "&#x27;", "<!-- c"})
    EXPECT_TRUE(has_markup(text)) << text;
  for (const char* text : {"a < b and c > d", "R&D; no", "x<y", "<3", "& so;"}) EXPECT_FALSE(has_markup(text)) << text;
}

TEST(FilterOptions, OutOfRangeIsRefused) {
  EXPECT_THROW(check({.minimum_length = 5, .maximum_length = 4}), core::Error);
  EXPECT_THROW(check({.maximum_ratio = 0.5}), core::Error);
  EXPECT_THROW(check({.minimum_letters = 1.5}), core::Error);
}

}  // namespace
}  // namespace dragoman::corpus

#include "base/base64.h"
#include "formats_test_support.h"
#include "normalizing/grapheme_clusters.h"
#include "normalizing/normalizer.h"
#include "test_names.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// What golden/make_precompiled_golden.py wrote: files with Precompiled and Metaspace, and what the library makes of
/// them.
class Precompiled : public ::testing::TestWithParam<const char*> {
 protected:
  static std::filesystem::path path() {
    return testing::golden_file("precompiled_" + std::string(GetParam()) + ".tokenizer.json");
  }
  static core::Json rows() { return core::load_json(testing::golden_file("precompiled.json").string())[GetParam()]; }
  const BpeTokenizer tokenizer_ = BpeTokenizer::load(path());
};

TEST_P(Precompiled, SameIdsAndTextAsTheLibrary) {
  const auto encoder = tokenizer_.make_encoder();
  const core::Json golden = rows();
  ASSERT_GT(golden.size(), 150U);
  for (const core::Json& row : golden) {
    const auto text = row["text"].get<std::string>();
    const auto ids = row["ids"].get<std::vector<std::int32_t>>();
    EXPECT_EQ(tokenizer_.encode(text), ids) << row["text"];
    std::vector<std::int32_t> again;
    encoder->encode(text, 0, again);
    EXPECT_EQ(again, ids) << row["text"];
    EXPECT_EQ(tokenizer_.decode(ids), row["decoded"].get<std::string>()) << row["text"];
  }
}

TEST_P(Precompiled, WrittenAgainItIsTheSameTokenizer) {
  const BpeTokenizer again = BpeTokenizer::parse(tokenizer_.to_json(), "again");
  EXPECT_EQ(again.definition().text, tokenizer_.definition().text);
  EXPECT_EQ(again.to_json(), tokenizer_.to_json());
  for (const core::Json& row : rows())
    EXPECT_EQ(again.encode(row["text"].get<std::string>()), row["ids"].get<std::vector<std::int32_t>>());
}

/// What a rule deletes at the start of a text belongs to no piece.
TEST_P(Precompiled, PlacesOfPiecesFollowOneAnother) {
  for (const core::Json& row : rows()) {
    const auto text = row["text"].get<std::string>();
    std::size_t end = 0;
    std::vector<std::int32_t> ids;
    for (const Piece& piece : tokenizer_.encode_pieces(text)) {
      EXPECT_TRUE(piece.begin == end || end == 0) << row["text"];
      end = piece.end;
      ids.push_back(piece.id);
    }
    EXPECT_EQ(ids, row["ids"].get<std::vector<std::int32_t>>());
    if (!ids.empty()) {
      EXPECT_EQ(end, text.size()) << row["text"];
    }
  }
}

TEST_P(Precompiled, StreamsWhatItDecodes) {
  std::mt19937 random(3);
  const auto decoder = tokenizer_.make_decoder();
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::int32_t> ids;
    std::string text;
    for (std::size_t n = random() % 6; n > 0; --n) {
      ids.push_back(static_cast<std::int32_t>(random() % (random() % 2 == 0 ? 8 : 300)));
      decoder->decode(ids.back(), text);
    }
    EXPECT_EQ(text, tokenizer_.decode(ids)) << "nothing waits for an end here";
    decoder->finish(text);
    EXPECT_EQ(text, tokenizer_.decode(ids));
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Precompiled, ::testing::Values("always", "first", "never"),
                         dragoman::testing::kParameterName);

std::string error_of_base64(std::string_view base64) {
  std::string json = core::read_file(testing::golden_file("precompiled_always.tokenizer.json"));
  constexpr std::string_view kKey = "\"precompiled_charsmap\": \"";
  const std::size_t begin = json.find(kKey) + kKey.size();
  json.replace(begin, json.find('"', begin) - begin, base64);
  return testing::error_of([&] { BpeTokenizer::parse(json, "t.json"); });
}

TEST(PrecompiledErrors, DamagedMapsAreRefusedByTheirPlaceInTheFile) {
  constexpr const char* kPlace = "t.json.normalizer.precompiled_charsmap: ";
  const BpeTokenizer good = BpeTokenizer::load(testing::golden_file("precompiled_always.tokenizer.json"));
  const std::string map = good.definition().normalizer().at(0).content;
  EXPECT_EQ(error_of_base64(to_base64(map)), "no error");
  EXPECT_THAT(error_of_base64("!"), HasSubstr(std::string(kPlace) + "expected a character map in base64"));
  EXPECT_THAT(error_of_base64(to_base64(map).substr(1)), HasSubstr("base64"));
  EXPECT_THAT(error_of_base64(""), HasSubstr(std::string(kPlace) + "a character map of 0 bytes is cut short"));
  EXPECT_THAT(error_of_base64(to_base64(map.substr(0, 300))), HasSubstr("says that its table has"));
}

TEST(PrecompiledErrors, MetaspaceThatWeDoNotFollowIsRefused) {
  const std::string json = core::read_file(testing::golden_file("precompiled_always.tokenizer.json"));
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string changed = json;
    changed.replace(changed.find(from), from.size(), to);
    return testing::error_of([&] { BpeTokenizer::parse(changed, "t.json"); });
  };
  EXPECT_THAT(error("\"prepend_scheme\": \"always\"", "\"prepend_scheme\": \"often\""), HasSubstr("'often'"));
  EXPECT_THAT(error("\"replacement\": \"\xE2\x96\x81\"", "\"replacement\": \"_\""), HasSubstr("other than U+2581"));
  EXPECT_THAT(error("\"split\": true", "\"speed\": true"), HasSubstr("the key 'speed'"));
}

std::vector<std::string> clusters_of(const std::string& text) {
  std::vector<std::string> clusters;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = grapheme_cluster_end(text, begin);
    clusters.push_back(text.substr(begin, end - begin));
  }
  return clusters;
}

TEST(GraphemeClusters, AreWhatAReaderTakesForOneCharacter) {
  EXPECT_THAT(clusters_of("ab"), ElementsAre("a", "b"));
  EXPECT_THAT(clusters_of("a\r\n\r\nb\n\r"), ElementsAre("a", "\r\n", "\r\n", "b", "\n", "\r"));
  EXPECT_THAT(clusters_of("e\u0301\u0302o"), ElementsAre("e\u0301\u0302", "o"));
  EXPECT_THAT(clusters_of("\t\u0301"), ElementsAre("\t", "\u0301"));
  EXPECT_THAT(clusters_of("\u0600\u0600Ab"), ElementsAre("\u0600\u0600A", "b"));
  EXPECT_THAT(clusters_of("\u1112\u1161\u11AB\uAC00\u11A8\uAC01\u1161"),
              ElementsAre("\u1112\u1161\u11AB", "\uAC00\u11A8", "\uAC01", "\u1161"));
  EXPECT_THAT(clusters_of("\U0001F1E9\U0001F1EA\U0001F1EB\U0001F1F7\U0001F1E9"),
              ElementsAre("\U0001F1E9\U0001F1EA", "\U0001F1EB\U0001F1F7", "\U0001F1E9"));
  EXPECT_THAT(clusters_of("\U0001F468\u200D\U0001F469a\u200D\U0001F469"),
              ElementsAre("\U0001F468\u200D\U0001F469", "a\u200D", "\U0001F469"));
  EXPECT_THAT(clusters_of("\U0001F44D\U0001F3FD\u200D\u2764"), ElementsAre("\U0001F44D\U0001F3FD\u200D\u2764"));
  EXPECT_THAT(clusters_of("e\xFF\u0301"), ElementsAre("e", "\xFF", "\u0301"));
  EXPECT_THAT(clusters_of("e\xF0\x9F\x98\u0301\xE2\x96"), ElementsAre("e", "\xF0\x9F\x98", "\u0301", "\xE2\x96"));
}

TEST(PrecompiledStep, BytesThatAreNotTextStay) {
  const BpeTokenizer file = BpeTokenizer::load(testing::golden_file("precompiled_always.tokenizer.json"));
  const Normalizer normalizer(file.definition().normalizer());
  const AlignedText text = normalizer.apply(
      "\xFF"
      "A\u0301\xC3",
      4, true);
  EXPECT_EQ(text.text,
            "\xFF"
            "a\xC3")
      << "the rule for A replaces the cluster";
  EXPECT_EQ(text.origin, (std::vector<std::size_t>{4, 5, 8, 9}));
  // What could begin a character is cut short; none of its bytes comes twice.
  for (const std::string cut : {"\xE2\x96", "\xE2\x96z", "\xF0\x9F\x98 \xF0\x9F\x98", "\xF0\x9F\x98\xE2\x96\xC3"})
    EXPECT_EQ(normalizer.apply(cut, 0, false).text, cut);
}

/// Marks of Unicode 16 and 17, which the library's tables have and ICU 72's have not.
TEST(GraphemeClusters, HaveYoungerMarks) {
  for (const char* mark : {"\u0897", "\u1AD4", "\u1AE8", "\U000113D0", "\U0001E6F5"}) {
    const std::string cluster = std::string("\u0132") + mark;
    EXPECT_EQ(grapheme_cluster_end(cluster + "a", 0), cluster.size()) << mark;
  }
  for (const char* other : {"\u0896", "\u1ADE", "\U000113D3", "\U0001E6F6"})
    EXPECT_EQ(grapheme_cluster_end(std::string("\u0132") + other, 0), 2U) << other;
  EXPECT_EQ(grapheme_cluster_end("\U000113D1\u0132a", 0), 6U) << "it goes with what follows";
}

}  // namespace
}  // namespace dragoman::tokenizer

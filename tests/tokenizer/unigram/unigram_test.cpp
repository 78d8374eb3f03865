#include "formats_test_support.h"
#include "sentencepiece/sentencepiece_files.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/unigram_tokenizer.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Type = UnigramPiece::Type;

UnigramDefinition small_definition() {
  return {.pieces = {{"<unk>", 0, Type::kUnknown},
                     {"<s>", 0, Type::kControl},
                     {"a", -1, Type::kNormal},
                     {"b", -2, Type::kNormal},
                     {"ab", -2.5, Type::kNormal},
                     {"aa", -9, Type::kNormal},
                     {"bb", -1, Type::kUnused},
                     {"aab", -50, Type::kUserDefined},
                     {"\xE2\x96\x81", -1.5, Type::kNormal}}};
}

TEST(Unigram, TakesTheGreatestSumOfScores) {
  const UnigramTokenizer tokenizer(small_definition());
  EXPECT_THAT(testing::pieces_of(tokenizer, "abba"), ElementsAre("\xE2\x96\x81", "ab", "b", "a"));
  EXPECT_THAT(testing::pieces_of(tokenizer, "aaaab"), ElementsAre("\xE2\x96\x81", "a", "a", "aab"));
  EXPECT_THAT(testing::pieces_of(tokenizer, "xx axy"),
              ElementsAre("\xE2\x96\x81", "<unk>", "\xE2\x96\x81", "a", "<unk>"));
  EXPECT_THAT(tokenizer.encode(""), IsEmpty());
  EXPECT_THAT(tokenizer.encode("   "), IsEmpty());
}

/// All scores are multiples of a half, so sums are exact and every word has the pieces that it has alone.
TEST(Unigram, ALongTextHasThePiecesOfItsWords) {
  UnigramDefinition definition = small_definition();
  std::erase_if(definition.pieces, [](const UnigramPiece& piece) { return piece.type == Type::kUserDefined; });
  const UnigramTokenizer tokenizer(std::move(definition));
  std::mt19937 random(1);
  std::string text;
  std::vector<std::int32_t> expected;
  while (text.size() < std::size_t{3} << 19) {
    // A word of a hundred thousand letters has no place where paths end.
    std::string word(random() % 200 == 0 ? 100'000 : 1 + random() % 9, 'a');
    for (char& letter : word) letter = random() % 1000 == 0 ? 'x' : "ab"[random() % 2];
    text += (text.empty() ? "" : " ") + word;
    const std::vector<std::int32_t> ids = tokenizer.encode(word);
    expected.insert(expected.end(), ids.begin(), ids.end());
  }
  EXPECT_EQ(tokenizer.encode(text), expected);
  std::vector<std::int32_t> of_pieces;
  for (const Piece& piece : tokenizer.encode_pieces(text)) of_pieces.push_back(piece.id);
  EXPECT_EQ(of_pieces, expected);
}

TEST(Unigram, EncoderAndPiecesAgreeAboutBytesThatAreNotText) {
  const UnigramTokenizer tokenizer(small_definition());
  EXPECT_EQ(tokenizer.encode_pieces("a\xFF\xFE"
                                    "b"),
            (std::vector<Piece>{{8, 0, 0}, {2, 0, 1}, {0, 1, 3}, {3, 3, 4}}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\xFF\xFE"
                                              "b")),
            "a \xE2\x81\x87 b");
}

TEST(Unigram, SpecialPiecesAreMatchedOnRequest) {
  const UnigramTokenizer tokenizer(small_definition());
  EXPECT_TRUE(tokenizer.is_special(0));
  EXPECT_TRUE(tokenizer.is_special(1));
  EXPECT_FALSE(tokenizer.is_special(7));
  EXPECT_THAT(tokenizer.encode("<s>a", {.match_special_tokens = true}), ElementsAre(1, 8, 2));
  EXPECT_EQ(tokenizer.encode_pieces("a<s> b", {.match_special_tokens = true}),
            (std::vector<Piece>{{8, 0, 0}, {2, 0, 1}, {1, 1, 4}, {8, 5, 5}, {3, 5, 6}}));
  EXPECT_EQ(tokenizer.decode(std::vector<std::int32_t>{1, 8, 2, 1}), "a");
}

TEST(Unigram, OtherModesAreRefused) {
  const UnigramTokenizer tokenizer(small_definition());
  for (const EncodingMode mode : {EncodingMode::kGreedy, EncodingMode::kDropout}) {
    EXPECT_THAT(testing::error_of([&] { tokenizer.encode("a", {.mode = mode}); }), HasSubstr("no merges"));
    EXPECT_THAT(testing::error_of([&] { tokenizer.encode_pieces("a", {.mode = mode}); }), HasSubstr("no merges"));
    EXPECT_THAT(testing::error_of([&] { tokenizer.make_encoder({.mode = mode}); }), HasSubstr("no merges"));
  }
}

TEST(Unigram, RefusesContradictions) {
  const auto error = [](auto change) {
    UnigramDefinition definition = small_definition();
    change(definition);
    return testing::error_of([&] { UnigramTokenizer(definition, "model"); });
  };
  EXPECT_EQ(error([](auto&) {}), "no error");
  EXPECT_THAT(error([](auto& d) { d.pieces[2].text = ""; }), HasSubstr("model: piece 2 is empty"));
  EXPECT_THAT(error([](auto& d) { d.pieces[2].text = "\xFF"; }), HasSubstr("piece 2 is not valid UTF-8"));
  EXPECT_THAT(error([](auto& d) { d.pieces[2].text = std::string("a\0b", 3); }), HasSubstr("U+0000"));
  EXPECT_THAT(error([](auto& d) { d.pieces[3].text = "a"; }), HasSubstr("two pieces, 2 and 3"));
  EXPECT_THAT(error([](auto& d) { d.pieces[1].type = Type::kUnknown; }), HasSubstr("second unknown"));
  EXPECT_THAT(error([](auto& d) { d.pieces[0].type = Type::kControl; }), HasSubstr("no unknown"));
  EXPECT_THAT(error([](auto& d) { d.pieces.resize(2); }), HasSubstr("made from text"));
  EXPECT_THAT(error([](auto& d) { d.byte_fallback = true; }), HasSubstr("<0x00>"));
  EXPECT_THAT(error([](auto& d) { d.character_map = "map"; }), HasSubstr("model: a character map of 3 bytes"));
  EXPECT_THAT(error([](auto& d) { d.unknown_surface = "\xC0"; }), HasSubstr("unknown piece decodes"));
  const UnigramTokenizer tokenizer(small_definition());
  EXPECT_THAT(testing::error_of([&] { tokenizer.decode(std::vector<std::int32_t>{9}); }), HasSubstr("0 to 8"));
}

TEST(Unigram, NBestPiecesHaveTextsAndOffsets) {
  const UnigramTokenizer tokenizer(small_definition());
  const std::string_view text = " xyab";
  const auto found = tokenizer.n_best_pieces(text, 2);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[0].pieces,
              ElementsAre(TextPiece{8, "\xE2\x96\x81", 1, 1}, TextPiece{0, "xy", 1, 3}, TextPiece{4, "ab", 3, 5}));
  EXPECT_EQ(found[1].pieces.size(), 4U);
  const auto ids = tokenizer.encode_n_best(text, 2);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].score, ids[i].score);
    for (std::size_t j = 0; j < ids[i].ids.size(); ++j) EXPECT_EQ(found[i].pieces[j].id, ids[i].ids[j]);
  }
}

/// As in the lattice of sentencepiece 0.2.3, whose encode() counts bytes. tests/python/golden/sentencepiece.json has
/// scores of the library.
TEST(Unigram, TheBonusOfSymbolsCountsCharactersAmongSeveralSegmentations) {
  UnigramDefinition definition = small_definition();
  definition.pieces[7].text = "\xC3\xA9\xC3\xA9\xC3\xA9";
  const UnigramTokenizer tokenizer(definition);
  EXPECT_FLOAT_EQ(static_cast<float>(tokenizer.encode_n_best("\xC3\xA9\xC3\xA9\xC3\xA9", 2).front().score), -1.3F);
}

TEST(Unigram, NBestPiecesEndsAtItsDeadlineWithTheBest) {
  const UnigramTokenizer tokenizer(small_definition());
  const std::string text(4000, 'a');
  EXPECT_EQ(tokenizer.n_best_pieces(text, 3).size(), 3U);
  const auto late = tokenizer.n_best_pieces(text, 3, UnigramTokenizer::Clock::now() - std::chrono::seconds(1));
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].score, tokenizer.encode_n_best(text, 1)[0].score);
}

TEST(Unigram, NBestOfALongTextIsRefusedBeforeItTakesTheMemory) {
  const UnigramTokenizer tokenizer(small_definition());
  const std::string text(2'000'000, 'a');
  EXPECT_THAT(testing::error_of([&] { tokenizer.encode_n_best(text, 64); }),
              AllOf(HasSubstr("64 best segmentations of a text of 2000003 bytes would take"),
                    HasSubstr("ask for fewer, or split the line")));
  EXPECT_EQ(tokenizer.encode_n_best(std::string(20'000, 'a'), 4).size(), 4U);
}

TEST(Unigram, HasNoMergesToConvert) {
  const auto path = testing::golden_file("sentencepiece_unigram_plain.model");
  EXPECT_THAT(testing::error_of([&] { read_tokenizer_file(path); }), HasSubstr("has no merges"));
}

/// Pieces of the letters a and b up to three long, no mark and no dummy prefix, with random scores.
UnigramDefinition letters_definition(std::mt19937& random) {
  UnigramDefinition definition{.pieces = {{"<unk>", 0, Type::kUnknown}}};
  definition.dummy_prefix = false;
  for (const char* text : {"a", "b", "ab", "ba", "aa", "aab", "bab", "bb", "baa"})
    if (random() % 4 != 0 || std::string_view(text) == "a")  // where there is no b, it is unknown
      definition.pieces.push_back({text, -static_cast<float>(random() % 500) / 100, Type::kNormal});
  return definition;
}

/// Every segmentation of a text with the sum of its scores, unknown characters apart.
void all_segmentations(const UnigramDefinition& d, std::string_view rest, std::vector<std::int32_t>& path, double score,
                       std::vector<std::pair<double, std::vector<std::int32_t>>>& all) {
  if (rest.empty()) all.emplace_back(score, path);
  bool known = rest.empty();
  float least = 0;
  for (std::size_t id = 1; id < d.pieces.size(); ++id) {
    const UnigramPiece& piece = d.pieces[id];
    least = std::min(least, piece.score);
    if (!rest.starts_with(piece.text)) continue;
    known = known || piece.text.size() == 1;
    path.push_back(static_cast<std::int32_t>(id));
    all_segmentations(d, rest.substr(piece.text.size()), path, score + static_cast<double>(piece.score), all);
    path.pop_back();
  }
  if (known) return;
  const bool goes_on = !path.empty() && path.back() == 0;  // a run of unknown characters is one piece
  if (!goes_on) path.push_back(0);
  all_segmentations(d, rest.substr(1), path, score + static_cast<double>(least) - 10, all);
  if (!goes_on) path.pop_back();
}

std::string random_letters(std::mt19937& random) {
  std::string text(1 + random() % 9, 'a');
  for (char& c : text) c = random() % 2 == 0 ? 'a' : 'b';
  return text;
}

TEST(Unigram, TheBestSegmentationsAreTheBestOfAll) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const UnigramDefinition definition = letters_definition(random);
    const UnigramTokenizer tokenizer(definition);
    const std::string text = random_letters(random);
    std::vector<std::pair<double, std::vector<std::int32_t>>> all;
    std::vector<std::int32_t> path;
    all_segmentations(definition, text, path, 0, all);
    std::ranges::sort(all, std::greater<>());
    const auto most = static_cast<std::int32_t>(1 + random() % (all.size() + 3));
    const auto found = tokenizer.encode_n_best(text, most);
    ASSERT_EQ(found.size(), std::min(all.size(), static_cast<std::size_t>(most))) << text;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].score, all[i].first, 1e-4) << i;
      // Which of equal ones stand where is not said, but each is one of them.
      EXPECT_TRUE(std::ranges::any_of(all, [&](const auto& each) {
        return each.second == found[i].ids && std::abs(each.first - found[i].score) < 1e-4;
      })) << i;
    }
    EXPECT_NEAR(found[0].score, all[0].first, 1e-4);
  }
}

/// The counts of many draws against their probabilities, for all segmentations and for the best three.
TEST(Unigram, SamplesHaveTheirProbabilities) {
  std::mt19937 random(9);
  constexpr int kDraws = 20000;
  for (int round = 0; round < 6; ++round) {
    const UnigramDefinition definition = letters_definition(random);
    const UnigramTokenizer tokenizer(definition);
    const std::string text = random_letters(random) + "ab";
    std::vector<std::pair<double, std::vector<std::int32_t>>> all;
    std::vector<std::int32_t> path;
    all_segmentations(definition, text, path, 0, all);
    for (const double alpha : {0.0, 0.3, 1.0})
      for (const std::int32_t n_best : {0, 3}) {
        std::map<std::vector<std::int32_t>, double> expected;
        if (n_best == 0)
          for (const auto& [score, ids] : all) expected[ids] += std::exp(alpha * score);
        else
          for (const Segmentation& each : tokenizer.encode_n_best(text, n_best))
            expected[each.ids] += std::exp(alpha * each.score);
        double total = 0;
        for (const auto& [ids, weight] : expected) total += weight;
        std::map<std::vector<std::int32_t>, int> drawn;
        const auto encoder =
            tokenizer.make_encoder({.mode = EncodingMode::kSample, .alpha = alpha, .n_best = n_best, .seed = 3});
        for (std::uint64_t line = 0; line < kDraws; ++line) {
          std::vector<std::int32_t> ids;
          encoder->encode(text, line, ids);
          ++drawn[ids];
        }
        for (const auto& [ids, count] : drawn) EXPECT_TRUE(expected.contains(ids));
        for (const auto& [ids, weight] : expected) {
          const double share = weight / total;
          const double deviation = std::sqrt(share * (1 - share) * kDraws);
          EXPECT_NEAR(drawn[ids], share * kDraws, 5 * deviation + 1e-9) << text << " " << alpha << " " << n_best;
        }
      }
  }
}

TEST(Unigram, SamplesFollowFromSeedAndLine) {
  const UnigramTokenizer tokenizer(small_definition());
  EncodeOptions options{.mode = EncodingMode::kSample, .alpha = 0, .seed = 1, .line = 4};
  const std::string text = "abababababababab";
  const auto ids = tokenizer.encode(text, options);
  EXPECT_EQ(tokenizer.encode(text, options), ids);
  std::vector<std::int32_t> appended;
  tokenizer.make_encoder(options)->encode(text, 4, appended);
  EXPECT_EQ(appended, ids);
  const auto pieces = tokenizer.encode_pieces(text, options);
  EXPECT_TRUE(std::ranges::equal(pieces, ids, {}, &Piece::id));
  options.line = 5;
  EXPECT_NE(tokenizer.encode(text, options), ids);
  options.alpha = -1;
  EXPECT_THAT(testing::error_of([&] { tokenizer.encode(text, options); }), HasSubstr("exponent"));
}

/// make_n_best_golden.py
TEST(Unigram, TheBestSegmentationsAreThoseOfTheLibrary) {
  const auto golden = core::parse_json(core::read_file(testing::golden_file("n_best.json"), 1 << 22), "golden");
  for (const auto& [model, rows] : golden.items()) {
    const auto tokenizer = load_tokenizer(testing::golden_file(model));
    for (const core::Json& row : rows) {
      const auto text = row["text"].get<std::string>();
      const auto found = tokenizer->encode_n_best(text, 5);
      const auto scores = row["scores"].get<std::vector<double>>();
      ASSERT_EQ(found.size(), scores.size()) << text;
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i].score, scores[i], 1e-3 + 1e-5 * std::abs(scores[i])) << text << " " << i;
        const bool tied = (i > 0 && scores[i - 1] - scores[i] < 1e-3) ||
                          (i + 1 < scores.size() && scores[i] - scores[i + 1] < 1e-3) || i + 1 == scores.size();
        if (!tied) {
          EXPECT_EQ(found[i].ids, row["ids"][i].get<std::vector<std::int32_t>>()) << text << " " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace dragoman::tokenizer

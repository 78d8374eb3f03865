#include "dragoman/decoding/shortlist.h"

#include "error_message.h"
#include "small_model.h"
#include "table_model.h"
#include "test_data.h"
#include "test_names.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/decoding/model_stepper.h>

namespace dragoman::decoding {
namespace {

using ::testing::ElementsAre;
using testing::expect_same;
using ::testing::HasSubstr;
using testing::SmallModel;

/// Tokens are letters; the unknown one is a, the end z.
ShortlistVocabularies letters(bool shared = false) {
  const auto id = [](std::string_view piece) -> std::optional<std::int32_t> {
    if (piece.size() != 1 || piece.front() < 'a' || piece.front() > 'z') return std::nullopt;
    return piece.front() - 'a';
  };
  return {.source_size = 26,
          .target_size = 26,
          .end = 25,
          .unknown = 0,
          .shared = shared,
          .source_id = id,
          .target_id = id};
}

std::string candidates(const Shortlist& shortlist, const std::string& source) {
  std::vector<std::int32_t> tokens;
  for (const char letter : source) tokens.push_back(letter - 'a');
  std::vector<std::int32_t> found{7};
  shortlist.candidates(tokens, found);
  std::string text;
  for (const std::int32_t token : found) text += static_cast<char>('a' + token);
  return text;
}

class ShortlistFileTest : public ::testing::Test {
 protected:
  Shortlist read(const std::string& content, const ShortlistLimits& limits = {.first = 0}, bool shared = false,
                 const std::string& name = "lex.s2t") const {
    core::write_file(folder_ / name, content);
    return Shortlist::read(folder_ / name, letters(shared), limits);
  }
  std::string refusal(const std::string& content) const {
    return testing::message_of([&] { read(content); });
  }

  testing::TemporaryFolder folder_;
};

constexpr const char* kLexicon =
    "c b 0.5\n"
    "d b 0.25\n"
    "e\tb  0.125\n"
    "x k 1\n"
    "y NULL 0.9\n"
    "w NULL 0.05\n"
    "NULL b 0.1\n"
    "\xE2\x96\x81x k 0.5\n";

TEST_F(ShortlistFileTest, TakesTheBestTranslationsOfEachSourceToken) {
  EXPECT_EQ(candidates(read(kLexicon), "b"), "acdez");
  EXPECT_EQ(candidates(read(kLexicon), "bkz"), "acdexz");
  EXPECT_EQ(candidates(read(kLexicon), "q"), "az") << "the end and the unknown token always";
  EXPECT_EQ(candidates(read(kLexicon, {.first = 0, .best = 2}), "kb"), "acdxz");
  EXPECT_EQ(candidates(read(kLexicon, {.first = 0}, true), "bq"), "abcdeqz") << "one vocabulary: a token may be copied";
}

TEST_F(ShortlistFileTest, TheFirstAreTheMostFrequentIfTheFileKnowsOrThoseOfSmallestId) {
  EXPECT_EQ(candidates(read(kLexicon, {.first = 1}), "k"), "axyz");
  EXPECT_EQ(candidates(read(kLexicon, {.first = 2}), "k"), "awxyz");
  EXPECT_EQ(candidates(read(kLexicon, {.first = 50}), "k"), "awxyz");
  EXPECT_EQ(candidates(read("x k 1\n", {.first = 3}), "k"), "abcxz");
  EXPECT_EQ(candidates(read("x k 1\n", {.first = 500}), "k"), "abcdefghijklmnopqrstuvwxyz");
}

/// As Marian's LexicalShortlistGenerator: the last line of a pair counts, what has no probability is none, and of
/// equals the greater id is the better.
TEST_F(ShortlistFileTest, ReadsAsMarianDoes) {
  EXPECT_EQ(candidates(read("c b 0.9\nd b 0.5\nc b 0.1\n", {.first = 0, .best = 1}), "b"), "adz");
  EXPECT_EQ(candidates(read("c b 0\nd b 1e-9\n"), "b"), "adz");
  EXPECT_EQ(candidates(read("c b .5\nd b .5\ne b .5\n", {.first = 0, .best = 2}), "b"), "adez");
}

TEST_F(ShortlistFileTest, MayBeCompressed) {
  EXPECT_EQ(candidates(read(kLexicon, {.first = 1}, false, "lex.gz"), "b"), "acdeyz");
  EXPECT_EQ(candidates(read(kLexicon, {.first = 1}, false, "lex.zst"), "b"), "acdeyz");
}

TEST_F(ShortlistFileTest, WhatIsMalformedIsNamed) {
  EXPECT_THAT(refusal("c b 0.5\nc b\n"), HasSubstr("lex.s2t: line 2 has not three fields"));
  EXPECT_THAT(refusal("c b 0.5 1\n"), HasSubstr("line 1 has not three fields"));
  for (const char* bad : {"x", "nan", "inf", "-0.1", "1e999"})
    EXPECT_THAT(refusal(std::string("c b ") + bad + "\n"), HasSubstr(std::string("line 1: '") + bad + "' is no prob"));
  EXPECT_THAT(refusal("cc bb 0.5\n"), HasSubstr("none of its 1 lines"));
  EXPECT_THAT(refusal(""), HasSubstr("none of its 0 lines"));
}

/// tests/decoding/golden/make_shortlist.py wrote the file.
TEST_F(ShortlistFileTest, ReadsTheBinaryForm) {
  const std::string good = core::read_file(testing::golden_file("shortlist.bin"));
  const Shortlist shortlist = read(good, {.first = 20});
  EXPECT_EQ(shortlist.size(), 7U);
  EXPECT_EQ(candidates(shortlist, "a"), "abcfz") << "its own limits count: three first, and b and f";
  EXPECT_EQ(candidates(shortlist, "b"), "abcz");
  EXPECT_EQ(candidates(shortlist, "cd"), "abchijkz");
  EXPECT_EQ(candidates(shortlist, "y"), "abcz") << "beyond the last that has any";
  for (std::size_t size = 8; size < good.size(); ++size)
    EXPECT_THAT(refusal(good.substr(0, size)), HasSubstr("a binary shortlist")) << size;
  EXPECT_THAT(refusal(good + "x"), HasSubstr("header tells of another size"));
  std::string damaged = good;
  damaged[60] ^= 1;
  EXPECT_THAT(refusal(damaged), HasSubstr("checksum"));
  for (const std::size_t count : {32, 40}) {
    std::string huge = good;
    huge.replace(count, 8, 8, '\x7f');
    EXPECT_THAT(refusal(huge), HasSubstr("header tells of another size"));
  }
  ShortlistVocabularies few = letters();
  few.source_size = 3;
  EXPECT_THAT(testing::message_of([&] { Shortlist::read(testing::golden_file("shortlist.bin"), few); }),
              HasSubstr("more source tokens than the model has"));
  few = letters();
  few.target_size = 10, few.end = 1;
  EXPECT_THAT(testing::message_of([&] { Shortlist::read(testing::golden_file("shortlist.bin"), few); }),
              HasSubstr("target tokens that the model does not have"));
}

/// Its own list of the end is where the binary form keeps what is always a candidate.
TEST_F(ShortlistFileTest, TheBinaryFormGivesTheSameCandidatesAgain) {
  for (const std::int32_t first : {0, 2}) {
    const Shortlist text = read(kLexicon, {.first = first, .best = 2});
    const std::string bytes = text.to_binary();
    const Shortlist binary = read(bytes);
    for (const char* source : {"z", "bz", "bkz", "kz", "qz"})
      EXPECT_EQ(candidates(binary, source), candidates(text, source)) << source << ", first " << first;
    EXPECT_EQ(binary.to_binary(), bytes);
    std::string damaged = bytes;
    damaged[60] ^= 1;
    EXPECT_THAT(refusal(damaged), HasSubstr("checksum"));
  }
  const Shortlist golden = Shortlist::read(testing::golden_file("shortlist.bin"), letters(), {});
  EXPECT_EQ(candidates(read(golden.to_binary()), "acdz"), candidates(golden, "acdz"));
}

/// A search that chooses from lists against one in which all other tokens are suppressed, which comes another way.
class ShortlistSearchTest : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr std::int32_t kSize = SmallModel::kVocabulary;

  static ShortlistVocabularies vocabularies() {
    const nn::SequenceSpec spec = SmallModel().model().spec();
    return {.source_size = kSize, .target_size = kSize, .end = spec.end, .unknown = spec.unknown};
  }
  static Shortlist some() {
    std::vector<Shortlist::Entry> entries;
    for (std::int32_t source = 3; source < kSize; ++source)
      for (const std::int32_t target : {3 + source * 5 % 10, 3 + source * 7 % 10})
        entries.push_back({source, target, 1});
    return {vocabularies(), entries, {}, 10};
  }
  std::vector<std::vector<Hypothesis>> decode(const std::vector<Sentence>& sentences, DecodingOptions options,
                                              std::int64_t rows) {
    options.strategy = GetParam();
    options.n_best = options.strategy == "greedy" ? 1 : 3;
    options.maximum_length = 9;
    ModelStepper stepper(small_.model(), small_.context());
    return decode_all(stepper, sentences, options, {.maximum_rows = rows});
  }

  SmallModel small_{5};
};
INSTANTIATE_TEST_SUITE_P(Strategies, ShortlistSearchTest, ::testing::Values("beam", "greedy", "sampling"),
                         dragoman::testing::kParameterName);

TEST_P(ShortlistSearchTest, ChoosesFromTheSentencesOwnListWhateverItsCompany) {
  const Shortlist shortlist = some();
  std::vector<Sentence> sentences = testing::small_sentences(12, 6);
  std::vector<std::vector<Hypothesis>> expected;
  for (Sentence& sentence : sentences) {
    std::vector<std::int32_t> allowed;
    shortlist.candidates(sentence.source, allowed);
    DecodingOptions options;
    for (std::int32_t token = 0; token < kSize; ++token)
      if (!std::ranges::binary_search(allowed, token)) options.suppressed.push_back({token});
    EXPECT_FALSE(options.suppressed.empty());
    expected.push_back(decode({sentence}, options, 100).front());
    for (const Hypothesis& hypothesis : expected.back())
      for (const std::int32_t token : hypothesis.tokens) EXPECT_TRUE(std::ranges::binary_search(allowed, token));
    sentence.shortlist = &shortlist;
  }
  for (const std::int64_t rows : {1, 7, 100}) expect_same(expected, decode(sentences, {}, rows));
  // Among sentences that choose from everything.
  std::vector<Sentence> mixed = sentences;
  for (std::size_t i = 0; i < mixed.size(); i += 2) mixed[i].shortlist = nullptr;
  const auto results = decode(mixed, {}, 100);
  for (std::size_t i = 1; i < mixed.size(); i += 2) expect_same({expected[i]}, {results[i]});
}

TEST_P(ShortlistSearchTest, AListOfTheWholeVocabularyChangesNothing) {
  std::vector<std::int32_t> all(kSize);
  std::iota(all.begin(), all.end(), 0);
  const Shortlist shortlist(vocabularies(), {}, all, 1);
  std::vector<Sentence> sentences = testing::small_sentences(12, 6);
  const auto without = decode(sentences, {}, 20);
  for (Sentence& sentence : sentences) sentence.shortlist = &shortlist;
  expect_same(without, decode(sentences, {}, 20));
}

TEST_P(ShortlistSearchTest, TokensThatEndTheSearchMayBeChosenToo) {
  const std::vector<std::int32_t> listed{3, 4, 5}, ends{7, 9};
  const Shortlist shortlist(vocabularies(), {}, listed, 1);
  std::vector<Sentence> sentences = testing::small_sentences(12, 6);
  DecodingOptions options{.ends = ends};
  DecodingOptions suppressing = options;
  for (std::int32_t token = 0; token < kSize; ++token)
    if (std::ranges::find(listed, token) == listed.end() && std::ranges::find(ends, token) == ends.end() &&
        token != vocabularies().end && token != vocabularies().unknown)
      suppressing.suppressed.push_back({token});
  const auto expected = decode(sentences, suppressing, 20);
  for (Sentence& sentence : sentences) sentence.shortlist = &shortlist;
  const auto found = decode(sentences, options, 20);
  expect_same(expected, found);
  EXPECT_TRUE(std::ranges::any_of(found, [](const auto& results) { return results.front().end == 7; }) ||
              std::ranges::any_of(found, [](const auto& results) { return results.front().end == 9; }));
}

TEST_P(ShortlistSearchTest, OneOfAnotherVocabularyIsRefused) {
  const Shortlist shortlist(letters(), {}, {}, 1);
  std::vector<Sentence> sentences = testing::small_sentences(1, 3);
  sentences.front().shortlist = &shortlist;
  EXPECT_THAT(testing::message_of([&] { decode(sentences, {}, 20); }, core::ErrorCode::kInvalidArgument),
              HasSubstr("the shortlist is of vocabularies of 26 and 26 tokens, the model of 13 and 13"));
}

}  // namespace
}  // namespace dragoman::decoding

#include "error_message.h"
#include "tokenizer_test_support.h"

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::learn_from;
using testing::pieces_of;

/// Nothing but characters and merges: no special tokens, bytes or word marks.
LearnOptions bare(std::int32_t vocab_size, std::uint64_t min_frequency = 1) {
  LearnOptions options;
  options.vocab_size = vocab_size;
  options.min_frequency = min_frequency;
  options.special_tokens = {};
  options.byte_fallback = false;
  options.word_marks = false;
  return options;
}

std::string error_of(const std::string& text, const LearnOptions& options) {
  return testing::error_of([&] { learn_from(text, options); });
}

std::vector<std::string> merges_of(const BpeTokenizer& tokenizer) {
  std::vector<std::string> merges;
  for (const Merge& merge : tokenizer.definition().merges)
    merges.push_back(std::string(tokenizer.piece(merge.left)) + " " + std::string(tokenizer.piece(merge.right)));
  return merges;
}

TEST(BpeLearning, KindsThatCannotHoldTheResultRefuseBeforeTheCorpusIsRead) {
  const auto refusal = [](FileKind kind, auto set) {
    LearnOptions options;
    options.written_as = kind;
    set(options);
    return testing::error_of([&] { learn_bpe({"there-is-no-such-file"}, options); });
  };
  const auto nothing = [](LearnOptions&) {};
  constexpr FileKind kModel = FileKind::kSentencePiece;
  EXPECT_THAT(refusal(kModel, [](LearnOptions& o) { o.split_case = true; }), HasSubstr("changes of case"));
  EXPECT_THAT(refusal(kModel, [](LearnOptions& o) { o.lowercase = true; }), HasSubstr("normalisation"));
  EXPECT_THAT(refusal(kModel, [](LearnOptions& o) { o.normalization = Normalization::kNfc; }),
              HasSubstr("normalisation"));
  EXPECT_THAT(refusal(kModel, [](LearnOptions& o) { o.special_tokens = {}; }), HasSubstr("no unknown token"));
  EXPECT_THAT(refusal(kModel, [](LearnOptions& o) { o.split_punctuation = true; }), HasSubstr("punctuation"));
  EXPECT_THAT(refusal(FileKind::kTiktoken, nothing), HasSubstr("byte"));
  EXPECT_THAT(refusal(FileKind::kYouTokenToMe, nothing), HasSubstr("as bytes"));
  EXPECT_THAT(refusal(kModel, nothing), HasSubstr("there-is-no-such-file")) << "what can be written is learned";
  EXPECT_THAT(refusal(FileKind::kTokenizerJson, [](LearnOptions& o) { o.split_digits = o.lowercase = true; }),
              HasSubstr("there-is-no-such-file"));
  EXPECT_THAT(refusal(kModel, [](LearnOptions& o) { o.split_digits = true; }), HasSubstr("there-is-no-such-file"));
  EXPECT_THAT(refusal(kModel, [](LearnOptions& o) { o.byte_fallback = false; }), HasSubstr("there-is-no-such-file"));
  EXPECT_THAT(refusal(kModel, [](LearnOptions& o) { o.sentencepiece.emplace().name = "identity"; }),
              HasSubstr("there-is-no-such-file"));
}

TEST(BpeLearning, SentencePieceModelsHoldNoNul) {
  LearnOptions options;
  options.vocab_size = 270;
  options.min_frequency = 1;
  const std::string text("a\0b a\0b\n", 8);
  const auto holds_nul = [&] {
    const BpeTokenizer tokenizer = learn_from(text, options);
    return std::ranges::any_of(tokenizer.definition().pieces,
                               [](const std::string& piece) { return piece.find('\0') != std::string::npos; });
  };
  EXPECT_TRUE(holds_nul());
  options.written_as = FileKind::kSentencePiece;
  EXPECT_FALSE(holds_nul());
}

TEST(BpeLearning, NoMergeMakesAPieceBeyondTheLongest) {
  LearnOptions options = bare(40);
  const std::string text = std::string(2048, '=') + "\n" + "\u00E9\u00E9\u00E9\u00E9\u00E9\u00E9\u00E9\u00E9\n";
  const auto longest = [&] {
    std::size_t most = 0;
    const auto learned = learn_from(text, options);
    for (const std::string& piece : learned.definition().pieces)
      most = std::max(most, piece.starts_with('=') ? piece.size() : piece.size() / 2);
    return most;
  };
  EXPECT_EQ(longest(), 2048U);
  for (const std::int32_t most : {1, 4, 5, 16}) {
    options.max_piece_length = most;
    EXPECT_LE(longest(), static_cast<std::size_t>(most));
    EXPECT_EQ(longest() > 1, most > 1);
  }
  options.max_piece_length = -1;
  EXPECT_THAT(error_of(text, options), HasSubstr("max_piece_length is -1"));
}

TEST(BpeLearning, UserSymbolsTakeLinearTime) {
  LearnOptions options;
  for (int i = 0; i < 50000; ++i) options.user_symbols.push_back("[" + std::to_string(i) + "]");
  options.vocab_size = 60000;
  EXPECT_EQ(learn_from("[17] the river\n", options).id("[17]"), 3 + 256 + 17);
  options.user_symbols.push_back("[17]");
  EXPECT_THAT(error_of("a\n", options), HasSubstr("given twice"));
}

TEST(BpeLearning, WorkedExampleOfTheLiterature) {
  // a = 0 ... d = 3; the pair (a, b) occurs three times, more than any other, and becomes 4.
  const BpeTokenizer tokenizer = learn_from("abababcd\n", bare(5));
  EXPECT_EQ(tokenizer.definition().pieces, (std::vector<std::string>{"a", "b", "c", "d", "ab"}));
  EXPECT_THAT(tokenizer.encode("abababcd"), ElementsAre(4, 4, 4, 2, 3));
  EXPECT_THAT(pieces_of(tokenizer, "abababcd"), ElementsAre("ab", "ab", "ab", "c", "d"));
  EXPECT_EQ(tokenizer.decode(std::vector<std::int32_t>{4, 4, 4, 2, 3}), "abababcd");
}

TEST(BpeLearning, SennrichExample) {
  // Sennrich et al. 2016, figure 1: low 5, lower 2, newest 6, widest 3; (e, s) and (s, t) both occur 9 times, then (es,
  // t), then (l, o). Their words end in a mark and ours begin with one, which changes neither of these pairs.
  std::string text;
  for (const auto& [word, count] : {std::pair("low", 5), {"lower", 2}, {"newest", 6}, {"widest", 3}})
    for (int i = 0; i < count; ++i) text += std::string(word) + "\n";
  LearnOptions options = bare(15);
  const BpeTokenizer tokenizer = learn_from(text, options);
  // Ids by count: e 17, w 16, s 9, t 9, ...: (e, s) has the smaller left id and goes before (s, t).
  EXPECT_THAT(merges_of(tokenizer), ElementsAre("e s", "es t", "l o", "lo w", "e w"));
}

TEST(BpeLearning, CharactersByCountThenCodePoint) {
  const BpeTokenizer tokenizer = learn_from("cabbdaé\n", bare(5));
  EXPECT_EQ(tokenizer.definition().pieces, (std::vector<std::string>{"a", "b", "c", "d", "é"}))
      << "a and b twice, the others once";
}

TEST(BpeLearning, TiesGoToTheSmallerLeftIdThenTheSmallerRightId) {
  // All pairs occur twice. Ids: a 0, b 1, c 2, d 3 (all characters occur four times).
  const BpeTokenizer left = learn_from("db\nca\ndb\nca\nbd\nac\nbd\nac\n", bare(8));
  EXPECT_THAT(merges_of(left), ElementsAre("a c", "b d", "c a", "d b"));
  const BpeTokenizer right = learn_from("ad\nac\nab\nad\nac\nab\n", bare(7));
  EXPECT_THAT(merges_of(right), ElementsAre("a b", "a c", "a d"));
}

TEST(BpeLearning, HigherCountBeatsSmallerIds) {
  const BpeTokenizer tokenizer = learn_from("ab\nab\ncd\ncd\ncd\naaaabbbb\n", bare(5));
  EXPECT_THAT(merges_of(tokenizer).front(), "a b");
  const BpeTokenizer more = learn_from("ab\nab\ncd\ncd\ncd\naaxbb\n", bare(6));
  EXPECT_THAT(merges_of(more).front(), "c d");
}

TEST(BpeLearning, RunsCountWithoutOverlapFromTheLeft) {
  // aaa holds (a, a) once: with two lines that makes 2, less than the 3 of (b, c). Counted with overlap it would
  // have 4.
  EXPECT_THAT(merges_of(learn_from("aaa\naaa\nbc\nbc\nbc\n", bare(4))), ElementsAre("b c"));
  EXPECT_THAT(merges_of(learn_from("aaaa\naaaa\nbc\nbc\nbc\n", bare(4))), ElementsAre("a a"));
  const BpeTokenizer tokenizer = learn_from("aaaaa\n", bare(3));
  EXPECT_THAT(pieces_of(tokenizer, "aaaaa"), ElementsAre("aa", "aaa"))
      << "(aa, aa) and (aa, a) occur once each; a has the smaller id";
}

TEST(BpeLearning, DefaultLayoutOfIds) {
  LearnOptions options;
  options.vocab_size = 300;
  options.user_symbols = {"<ph>"};
  const BpeTokenizer tokenizer = learn_from("low low low lower <ph> lowest\n", options);
  EXPECT_EQ(tokenizer.id("<unk>"), 0);
  EXPECT_EQ(tokenizer.id("<s>"), 1);
  EXPECT_EQ(tokenizer.id("</s>"), 2);
  EXPECT_EQ(tokenizer.id("<0x00>"), 3);
  EXPECT_EQ(tokenizer.id("<0xFF>"), 258);
  EXPECT_EQ(tokenizer.id("<ph>"), 259);
  EXPECT_EQ(tokenizer.id("l"), 260)
      << "l, o, w and the word mark occur 5 times each; the mark has the highest code point";
  EXPECT_EQ(tokenizer.id("\u2581"), 263);
  EXPECT_TRUE(tokenizer.is_special(2));
  EXPECT_FALSE(tokenizer.is_special(3));
  EXPECT_FALSE(tokenizer.is_special(259));
  EXPECT_FALSE(tokenizer.id("nothing").has_value());
}

TEST(BpeLearning, WordsBeginWithTheirMarkAndMergesStayInside) {
  LearnOptions options = bare(100);
  options.word_marks = true;
  const BpeTokenizer tokenizer = learn_from("a b a b a b a b\n", options);
  EXPECT_THAT(merges_of(tokenizer), ElementsAre("\u2581 a", "\u2581 b")) << "nothing may join one word with the next";
}

TEST(BpeLearning, MinimumFrequencyStopsAndWarns) {
  std::vector<std::string> warnings;
  const auto log = [&](core::LogLevel level, std::string_view message) {
    if (level == core::LogLevel::kWarning) warnings.emplace_back(message);
  };
  const BpeTokenizer tokenizer = learn_from("ab\nab\nab\nbc\nbc\n", bare(100, 3), log);
  EXPECT_THAT(merges_of(tokenizer), ElementsAre("a b"));
  EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("3 times"), HasSubstr("4 pieces instead of 100"))));
}

TEST(BpeLearning, CharacterCoverageDropsTheRarest) {
  LearnOptions options = bare(10, 1000);
  options.character_coverage = 0.8;  // a 6, b 2, c 1, d 1: a and b are eight of ten
  EXPECT_EQ(learn_from("aaaaaabbcd\n", options).definition().pieces, (std::vector<std::string>{"a", "b"}));
  options.character_coverage = 0.81;
  EXPECT_EQ(learn_from("aaaaaabbcd\n", options).definition().pieces, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(BpeLearning, UncoveredCharactersPartWhatMayMerge) {
  LearnOptions options = bare(10, 2);
  options.character_coverage = 0.9;
  options.special_tokens = {"<unk>"};
  const BpeTokenizer tokenizer = learn_from("aazaa\naayaa\naaxaa\naawaa\n", options);
  EXPECT_THAT(merges_of(tokenizer), ElementsAre("a a"));
}

TEST(BpeLearning, MergesNeverSpellSpecialTokensOrBytesOrUserSymbols) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "</s> <0x41> <unk>\n";
  LearnOptions options;
  options.vocab_size = 400;
  options.special_tokens = {"<unk>", "<s>", "</s>"};
  const BpeTokenizer tokenizer = learn_from(text, options);
  EXPECT_GT(tokenizer.definition().merges.size(), 5U);
  for (const Merge& merge : tokenizer.definition().merges) EXPECT_GE(merge.result, 259);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("</s> <0x41> <unk>")), "</s> <0x41> <unk>") << "plain text stays text";
  for (const std::int32_t id : tokenizer.encode("a</s> <0x41> <unk>")) EXPECT_FALSE(tokenizer.is_special(id));
}

TEST(BpeLearning, TwoMergesThatSpellOneStringShareAnId) {
  // (a, b) and then (ab, c) give abc; where x holds a off from the first merge, (b, c) and (a, bc) give it again.
  const BpeTokenizer tokenizer = testing::make_plain_bpe("abcx", {{"a", "b"}, {"ab", "c"}, {"b", "c"}, {"a", "bc"}});
  EXPECT_EQ(tokenizer.size(), 7);
  EXPECT_EQ(tokenizer.definition().merges[1].result, tokenizer.definition().merges[3].result);
}

TEST(BpeLearning, UserSymbolsStayOutOfMerges) {
  LearnOptions options;
  options.vocab_size = 290;
  options.user_symbols = {"<ph>"};
  const BpeTokenizer tokenizer = learn_from("a<ph>b a<ph>b a<ph>b a<ph>b\n", options);
  EXPECT_FALSE(tokenizer.id("p").has_value()) << "its characters are not seen";
  EXPECT_THAT(pieces_of(tokenizer, "a<ph>b"), ElementsAre("\u2581a", "<ph>", "\u2581b"));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a<ph>b <ph> b")), "a<ph>b <ph> b");
}

TEST(BpeLearning, NormalisationAndLowerCaseApplyBeforeCounting) {
  LearnOptions options;
  options.vocab_size = 266;
  options.special_tokens = {};
  options.normalization = Normalization::kNfkc;
  options.lowercase = true;
  const BpeTokenizer tokenizer = learn_from("\uFF21\u00A0A a\n", options);  // full-width A, a no-break space, A, a
  EXPECT_EQ(tokenizer.id("a"), 256);
  EXPECT_EQ(tokenizer.id("\u2581"), 257);
  EXPECT_EQ(tokenizer.id("\u2581a"), 258) << "three words \u2581a";
  EXPECT_FALSE(tokenizer.id("A").has_value());
}

TEST(BpeLearning, AMarkInTheTextBeginsAWordIfItIsNotEscaped) {
  LearnOptions options;
  options.vocab_size = 300;
  options.escape_marks = false;
  const std::string one = learn_from("rivers\u2581run \u2581run rivers\u2581\n\u2581\n", options).to_json();
  EXPECT_EQ(one, learn_from("rivers run run rivers\n", options).to_json());
}

TEST(BpeLearning, SeveralFilesGiveAJointVocabularyAndTheirOrderDoesNotMatter) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "a", "der Hund und der Hund");  // no line end: the next file must not continue the word
  core::write_file(folder / "b", "the dog and the dog\r\nthe dog\r\n");
  LearnOptions options;
  options.vocab_size = 300;
  const std::string one = learn_bpe({folder / "a", folder / "b"}, options).to_json();
  EXPECT_EQ(one, learn_bpe({folder / "b", folder / "a"}, options).to_json());
  EXPECT_EQ(one, learn_from("der Hund und der Hund\nthe dog and the dog\nthe dog\n", options).to_json());
}

TEST(BpeLearning, SameBytesForAnyNumberOfThreads) {
  std::mt19937 random(5);
  std::string text;
  while (text.size() < 3'000'000)
    text += testing::random_text(random, "abcdefgh", 9) + (random() % 8 == 0 ? "\n" : " ");
  LearnOptions options;
  options.vocab_size = 700;
  options.threads = 1;
  const std::string one = learn_from(text, options).to_json();
  for (const int threads : {2, 7}) {
    options.threads = threads;
    EXPECT_EQ(learn_from(text, options).to_json(), one) << threads << " threads";
  }
}

TEST(BpeLearning, LongRepetitionsTakeLinearTime) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "ab";
  text += "\n" + std::string(400'000, 'x') + "\n";
  const BpeTokenizer tokenizer = learn_from(text, bare(20));
  EXPECT_GT(tokenizer.definition().merges.size(), 10U);
}

TEST(BpeLearning, ErrorsSayWhatToDo) {
  EXPECT_THAT(error_of("", bare(10)), HasSubstr("no words"));
  EXPECT_THAT(error_of("  \n \n\n", LearnOptions{}), HasSubstr("no words"));
  EXPECT_THAT(error_of("abcde\n", bare(4)), AllOf(HasSubstr("5 characters"), HasSubstr("at least 5")));
  EXPECT_THAT(error_of("a", bare(0)), HasSubstr("must be a whole number from 1"));
  LearnOptions options = bare(10);
  options.character_coverage = 1.5;
  EXPECT_THAT(error_of("a", options), HasSubstr("1.5"));
  options = bare(10);
  options.special_tokens = {"\u2400"};
  EXPECT_THAT(error_of("a", options), HasSubstr("U+2400 to U+2423"));
  options.special_tokens = {"\u241B"};
  EXPECT_THAT(error_of("a", options), HasSubstr("pieces cannot tell apart"));
  options.special_tokens.clear();
  for (char token = 'A'; token <= 'Z' + 1; ++token) options.special_tokens.emplace_back(1, token);
  EXPECT_THAT(error_of("a", options), HasSubstr("more than 26 of one character"));
  options.special_tokens = {"<s>", "<s>"};
  EXPECT_THAT(error_of("a", options), HasSubstr("twice"));
  options.special_tokens = {"<0x41>"};
  EXPECT_THAT(error_of("a", options), HasSubstr("byte piece"));
  options.special_tokens = {};
  options.user_symbols = {"  "};
  EXPECT_THAT(error_of("a", options), HasSubstr("consists of spaces only"));
  options.user_symbols = {};
  options.special_tokens = {"a b"};
  EXPECT_THAT(error_of("a", options), HasSubstr("holds a space"));
  options.special_tokens = {};
  options.user_symbols = {"\xFF"};
  EXPECT_THAT(error_of("a", options), HasSubstr("UTF-8"));
  EXPECT_THROW(learn_bpe({"/nonexistent/file"}, bare(10)), core::Error);
}

TEST(BpeLearning, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  const testing::TemporaryFolder folder;
  core::write_file(folder / "a", "some words\n");
  try {
    learn_bpe({folder / "a"}, LearnOptions{}, {}, {}, stop.get_token());
    FAIL() << "went on";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::kInterrupted);
  }
}

/// Pieces and merges of the library tokenizers for the words around the symbols are those of text without the symbols.
TEST(BpeLearning, SymbolsMayHoldSpaces) {
  LearnOptions options{.vocab_size = 300};
  options.user_symbols = {"New York", "ad hoc"};
  const std::string text = "the river in New York is the river ad hoc New  York\nNew York New York\n";
  const BpeTokenizer tokenizer = testing::learn_from(text, options);
  EXPECT_EQ(testing::pieces_of(tokenizer, "New York"), std::vector<std::string>{"New York"});
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("in New York is ad hoc")), "in New York is ad hoc");
  for (const std::string& piece : tokenizer.definition().pieces)
    EXPECT_TRUE(piece.find(' ') == std::string::npos || piece == "New York" || piece == "ad hoc") << piece;
  const testing::TemporaryFolder folder;
  core::write_file(folder / "counts", "2\tNew\n");
  EXPECT_THAT(testing::error_of([&] { learn_bpe_from_counts({folder / "counts"}, options); }),
              HasSubstr("a user symbol holds a space"));
}

TEST(BpeLearning, SymbolsOfSentencePieceModelsHaveMarksForSpaces) {
  LearnOptions options{.vocab_size = 300};
  options.sentencepiece.emplace();
  options.written_as = FileKind::kSentencePiece;
  options.user_symbols = {"New York", "ad\u2581hoc"};
  const BpeTokenizer tokenizer = testing::learn_from("in New York is ad hoc\nin New York\n", options);
  EXPECT_EQ(testing::pieces_of(tokenizer, "New York"), (std::vector<std::string>{"\u2581", "New\u2581York"}));
  EXPECT_TRUE(tokenizer.id("ad\u2581hoc").has_value());
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("in New York ad hoc")), "in New York ad hoc");
}

}  // namespace
}  // namespace dragoman::tokenizer

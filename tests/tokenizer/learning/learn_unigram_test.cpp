#include "formats_test_support.h"
#include "test_data.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/file.h>
#include <dragoman/core/json.h>
#include <dragoman/core/utf8.h>
#include <dragoman/tokenizer/byte_pieces.h>
#include <dragoman/tokenizer/count_words.h>
#include <dragoman/tokenizer/learn_unigram.h>
#include <dragoman/tokenizer/tokenizer_files.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Type = UnigramPiece::Type;

const std::string kMark = kWordMark;

UnigramDefinition learn_text(const std::string& text, const LearnUnigramOptions& options,
                             const core::LogSink& log = {}) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "corpus.txt", text);
  return learn_unigram({folder / "corpus.txt"}, options, {}, log);
}

/// Each count fits, but the sums of characters would not.
TEST(LearnUnigram, RefusesCountsWhoseSumsWouldOverflow) {
  const testing::TemporaryFolder folder;
  const auto error_of = [&](const std::string& counts) {
    core::write_file(folder / "counts", counts);
    return testing::error_of([&] { learn_unigram_from_counts({folder / "counts"}, {.vocab_size = 20}); });
  };
  const char* expected = "2^63 bytes or more in all";
  EXPECT_THAT(error_of("2000000000000000000\taaaa\n2000000000000000000\tbbbb\n"), HasSubstr(expected));
  EXPECT_THAT(error_of("9000000000000000000\ta\n"), HasSubstr(expected));
  // A word's mark counts, too: five bytes a word.
  EXPECT_THAT(error_of("900000000000000000\tab\n900000000000000000\tcd\n"), Not(HasSubstr(expected)));
  EXPECT_THAT(error_of("1000000000000000000\tab\n1000000000000000000\tcd\n"), HasSubstr(expected));
}

std::set<std::string> parts_of(const UnigramDefinition& definition) {
  std::set<std::string> texts;
  for (const UnigramPiece& piece : definition.pieces) texts.insert(piece.text);
  return texts;
}

std::string corpus_text() {
  return core::read_file(testing::golden_file("corpus.txt"), 1 << 20);
}

LearnUnigramOptions small(std::int32_t size) {
  return {.vocab_size = size, .character_coverage = 1, .byte_fallback = false, .normalization = {}};
}

std::ptrdiff_t characters_of(const std::string& text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

bool same(const UnigramDefinition& a, const UnigramDefinition& b) {
  return std::ranges::equal(a.pieces, b.pieces, [](const UnigramPiece& x, const UnigramPiece& y) {
    return x.text == y.text && x.score == y.score && x.type == y.type;
  });
}

TEST(LearnUnigram, TheSameForAnyNumberOfThreadsAnyOrderOfLinesAndCounts) {
  const std::string text = corpus_text();
  LearnUnigramOptions options = small(220);
  options.threads = 1;
  const UnigramDefinition one = learn_text(text, options);
  EXPECT_EQ(one.pieces.size(), 220U);
  for (const int threads : {2, 3}) {
    options.threads = threads;
    EXPECT_TRUE(same(learn_text(text, options), one)) << threads;
  }
  const testing::TemporaryFolder folder;
  const std::size_t middle = text.find('\n', text.size() / 2) + 1;
  core::write_file(folder / "a", text.substr(middle));
  core::write_file(folder / "b", text.substr(0, middle));
  EXPECT_TRUE(same(learn_unigram({folder / "a", folder / "b"}, options), one));
  core::OutputFile counts(folder / "counts");
  count_words({folder / "a", folder / "b"}, counts, {});
  counts.commit();
  EXPECT_TRUE(same(learn_unigram_from_counts({folder / "counts"}, options), one));
}

TEST(LearnUnigram, PiecesStandInSentencePiecesOrder) {
  LearnUnigramOptions options = small(450);
  options.byte_fallback = true;
  options.special_tokens = {"<pad>", "<unk>", "<s>"};
  options.user_symbols = {"<sep>"};
  const UnigramDefinition learned = learn_text(corpus_text(), options);
  EXPECT_EQ(learned.pieces[0].type, Type::kControl);
  EXPECT_EQ(learned.pieces[1].type, Type::kUnknown);
  EXPECT_EQ(learned.pieces[2].text, "<s>");
  EXPECT_EQ(learned.pieces[3].type, Type::kUserDefined);
  EXPECT_EQ(learned.pieces[4].text, "<0x00>");
  EXPECT_EQ(learned.pieces[259].type, Type::kByte);
  double total = 0;
  for (std::size_t i = 260; i < learned.pieces.size(); ++i) {
    EXPECT_EQ(learned.pieces[i].type, Type::kNormal);
    if (i > 260) {
      EXPECT_LE(learned.pieces[i].score, learned.pieces[i - 1].score);
    }
    total += std::exp(learned.pieces[i].score);
  }
  EXPECT_LE(total, 1) << "the M-step's prior takes some of it away";
  EXPECT_GT(total, 0.8);
}

TEST(LearnUnigram, WhatIsWrittenIsReadAsTheSame) {
  const testing::TemporaryFolder folder;
  const UnigramDefinition learned = learn_text(corpus_text(), small(200));
  write_tokenizer_file(learned, FileKind::kSentencePiece, folder / "spm.model");
  const auto read = load_tokenizer(folder / "spm.model");
  const auto* unigram = dynamic_cast<const UnigramTokenizer*>(read.get());
  ASSERT_NE(unigram, nullptr);
  EXPECT_TRUE(same(unigram->definition(), learned));
  EXPECT_EQ(unigram->definition().normalizer_name, "identity");
  EXPECT_THAT(testing::error_of([&] { write_tokenizer_file(learned, FileKind::kSubwordNmt, folder / "codes"); }),
              HasSubstr("no merges"));
}

TEST(LearnUnigram, FrequentWordsBecomePieces) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "the river and the river\n";
  for (int i = 0; i < 3; ++i) text += "hat nerd viva\n";
  const auto texts = parts_of(learn_text(text, small(24)));
  EXPECT_THAT(texts, Contains(kMark + "the"));
  EXPECT_THAT(texts, Contains(kMark + "river"));
}

TEST(LearnUnigram, PiecesKeepToTheRulesOfWords) {
  const std::string text = [] {
    std::string lines;
    for (int i = 0; i < 20; ++i)
      lines += "abc123 abc123 x\xD0\xB0\xD0\xB1 \xE3\x81\x82\xE4\xBA\xBA\xE3\x82\xA2 of the of the a7\xEF\xBC\x97\n";
    return lines;
  }();
  const auto pieces = [&](auto change) {
    LearnUnigramOptions options = small(60);
    change(options);
    return parts_of(learn_text(text, options));
  };
  const auto usual = pieces([](auto&) {});
  EXPECT_THAT(usual, Contains(kMark + "abc"));
  EXPECT_THAT(usual, Contains("123"));
  EXPECT_THAT(usual, Not(Contains("c123")));
  EXPECT_THAT(usual, Contains(kMark + "\xE3\x81\x82\xE4\xBA\xBA\xE3\x82\xA2"))
      << "Han, Hiragana and Katakana go together";
  for (const std::string& piece : usual) {
    EXPECT_FALSE(piece.find('x') != std::string::npos && piece.find('\xD0') != std::string::npos) << piece;
    EXPECT_EQ(piece.find(kMark, 1), std::string::npos) << piece;
  }
  EXPECT_THAT(pieces([](auto& o) { o.split_numbers = false; }), Contains(kMark + "abc123"));
  EXPECT_THAT(pieces([](auto& o) { o.split_scripts = false; }), Contains(kMark + "x\xD0\xB0\xD0\xB1"));
  for (const std::string& piece : pieces([](auto& o) { o.split_digits = true; }))
    EXPECT_FALSE(piece.size() > 1 && piece.find('1') != std::string::npos) << piece;
  EXPECT_THAT(pieces([](auto& o) { o.split_whitespace = false; }), Contains(HasSubstr("of" + kMark + "the")));
  EXPECT_THAT(pieces([](auto& o) { o.normalization.space_as_suffix = true; }), Contains("the" + kMark));
  for (const std::string& piece : pieces([](auto& o) { o.max_piece_length = 3; }))
    EXPECT_TRUE(characters_of(piece) <= 3 || piece.front() == '<') << piece;
}

TEST(LearnUnigram, SymbolsAndSpecialPiecesAreNotLearned) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "ab<sep>cd <s> ab<sep>cd <0x41> <unk>\n";
  LearnUnigramOptions options = small(60);
  options.user_symbols = {"<sep>"};
  const UnigramDefinition learned = learn_text(text, options);
  const auto texts = parts_of(learned);
  EXPECT_EQ(texts.size(), learned.pieces.size()) << "no text twice";
  for (const std::string& piece : texts)
    EXPECT_TRUE(piece == "<sep>" || piece.find("sep") == std::string::npos) << piece;
  const UnigramTokenizer tokenizer(learned);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("ab<sep>cd")), "ab<sep>cd");
  EXPECT_THAT(tokenizer.encode("ab<sep>cd"), Contains(3));
}

TEST(LearnUnigram, RareCharactersAreLeftOut) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "abab baba\n";
  text += "qab\n";
  LearnUnigramOptions options = small(12);
  options.character_coverage = 0.99;
  EXPECT_THAT(parts_of(learn_text(text, options)), Not(Contains("q")));
  options.character_coverage = 1;
  EXPECT_THAT(parts_of(learn_text(text, options)), Contains("q"));
}

/// As the library's trainer with the symbol New\u2581York.
TEST(LearnUnigram, SymbolsMayHoldSpaces) {
  LearnUnigramOptions options = small(40);
  options.user_symbols = {"New York"};
  const UnigramTokenizer tokenizer(learn_text("I love New York\nNew York is big\nNew  York\n", options));
  EXPECT_EQ(testing::pieces_of(tokenizer, "New York"), (std::vector<std::string>{"\u2581", "New\u2581York"}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("I love New York")), "I love New York");
}

TEST(LearnUnigram, RefusesWhatCannotBe) {
  const auto error = [](auto change) {
    LearnUnigramOptions options = small(100);
    change(options);
    return testing::error_of([&] { learn_text("abc abd abe\n", options); });
  };
  EXPECT_EQ(error([](auto&) {}), "no error");
  EXPECT_THAT(error([](auto& o) { o.vocab_size = 5; }), HasSubstr("need at least 9"));
  EXPECT_THAT(error([](auto& o) { o.special_tokens = {"<s>"}; }), HasSubstr("no <unk>"));
  EXPECT_THAT(error([](auto& o) { o.user_symbols = {"  "}; }), HasSubstr("consists of spaces only"));
  EXPECT_THAT(error([](auto& o) { o.special_tokens = {"<unk>", "a b"}; }), HasSubstr("holds a space"));
  EXPECT_THAT(error([](auto& o) { o.user_symbols = {"<s>"}; }), HasSubstr("given twice"));
  EXPECT_THAT(error([](auto& o) { o.user_symbols = {"<0x41>"}; }), HasSubstr("byte piece"));
  EXPECT_THAT(error([](auto& o) { o.shrinking_factor = 1; }), HasSubstr("shrinking_factor is 1"));
  EXPECT_THAT(error([](auto& o) { o.max_piece_length = 0; }), HasSubstr("max_piece_length is 0"));
  EXPECT_THAT(error([](auto& o) { o.sub_iterations = 0; }), HasSubstr("sub_iterations is 0"));
  EXPECT_THAT(testing::error_of([&] { learn_text("  \n\n", small(100)); }), HasSubstr("no words"));
  const testing::TemporaryFolder folder;
  core::write_file(folder / "counts", "3\tabc\n");
  LearnUnigramOptions lines = small(100);
  lines.split_whitespace = false;
  EXPECT_THAT(testing::error_of([&] { learn_unigram_from_counts({folder / "counts"}, lines); }),
              HasSubstr("pieces may reach over spaces, but count files hold single words"));
}

TEST(LearnUnigram, SaysIfTheCorpusHasFewerPieces) {
  std::string warning;
  const UnigramDefinition learned =
      learn_text("abc abd abe\n", small(100), [&](core::LogLevel level, std::string_view message) {
        if (level == core::LogLevel::kWarning) warning = message;
      });
  EXPECT_LT(learned.pieces.size(), 100U);
  EXPECT_THAT(warning, HasSubstr("instead of 100"));
}

/// make_learned_unigram_golden.py: the SentencePiece library opens what we learned and gives the same ids, and its own
/// trainer makes no fewer pieces of the text, and no likelier ones.
TEST(LearnUnigram, SentencePieceAgrees) {
  const auto golden =
      core::parse_json(core::read_file(testing::golden_file("learned_unigram.json"), 1 << 20), "golden");
  for (const core::Json& variant : golden["variants"]) {
    const auto name = variant["model"].get<std::string>();
    SCOPED_TRACE(name);
    LearnUnigramOptions options = small(variant["vocab_size"].get<std::int32_t>());
    if (name.find("bytes") != std::string::npos) {
      options.byte_fallback = true;
      options.user_symbols = {"<sep>", "river"};
      options.normalization.remove_extra_spaces = false;
    }
    const UnigramDefinition learned = learn_text(corpus_text(), options);
    const auto kept = load_tokenizer(testing::golden_file(name));
    const auto& stored = dynamic_cast<const UnigramTokenizer&>(*kept).definition();
    ASSERT_EQ(learned.pieces.size(), stored.pieces.size());
    std::map<std::string, float> scores;
    for (const UnigramPiece& piece : stored.pieces) scores[piece.text] = piece.score;
    for (const UnigramPiece& piece : learned.pieces) {
      ASSERT_TRUE(scores.contains(piece.text)) << piece.text;
      EXPECT_NEAR(scores[piece.text], piece.score, 1e-4) << piece.text;
    }
    for (const core::Json& row : variant["rows"]) {
      const auto text = row["text"].get<std::string>();
      EXPECT_EQ(kept->encode(text), row["ids"].get<std::vector<std::int32_t>>()) << text;
    }
    const UnigramTokenizer tokenizer(learned);
    double pieces = 0;
    double score = 0;
    const std::string text = corpus_text();
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      for (const std::int32_t id : tokenizer.encode(text.substr(begin, end - begin))) {
        ++pieces;
        score += learned.pieces[static_cast<std::size_t>(id)].score;
      }
      begin = end + 1;
    }
    EXPECT_LE(pieces, variant["trained"]["pieces"].get<double>() * 1.005);
    EXPECT_GE(score, variant["trained"]["score"].get<double>() * 1.005);
  }
}

}  // namespace
}  // namespace dragoman::tokenizer

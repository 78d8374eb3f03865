#include "formats/dictionary.h"

#include "formats_test_support.h"
#include "targets/dictionary_harness.h"
#include "test_data.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/learn_unigram.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string fairseq_error(const std::string& text) {
  return testing::error_of([&] { parse_fairseq_dictionary(text, "dict.txt"); });
}

std::string marian_error(const std::string& text) {
  return testing::error_of([&] { parse_marian_dictionary(text, "vocab.yml"); });
}

TEST(FairseqDictionary, IdsBeginBehindTheSpecialOnes) {
  const Dictionary d = parse_fairseq_dictionary("the@@ 12\r\n: 3\n\xC3\xA9 1\n", "dict.txt");
  EXPECT_THAT(d.pieces, ElementsAre("<s>", "<pad>", "</s>", "<unk>", "the@@", ":", "\xC3\xA9"));
  EXPECT_THAT(d.special, ElementsAre(true, true, true, true, false, false, false));
  EXPECT_EQ(d.find("the@@"), 4);
  EXPECT_EQ(d.find("river"), 3);
}

TEST(FairseqDictionary, AMarkedLineTakesAPieceOver) {
  const Dictionary d = parse_fairseq_dictionary("a 12\n<s> 1 #fairseq:overwrite\na 1 #fairseq:overwrite\n", "dict.txt");
  EXPECT_EQ(d.find("a"), 6);
  EXPECT_EQ(d.pieces[5], "<s>");
  EXPECT_EQ(d.pieces[4], "a");
}

/// In fairseq's Dictionary bos_index, eos_index and unk_index stay as they are.
TEST(FairseqDictionary, SpecialPiecesKeepTheirIds) {
  const Dictionary d = parse_fairseq_dictionary(
      "<s> 1 #fairseq:overwrite\n</s> 1 #fairseq:overwrite\n<unk> 1 #fairseq:overwrite\nie 1\n", "dict.txt");
  EXPECT_EQ(d.unknown, 3);
  EXPECT_EQ(d.find("zz"), 3);
  EXPECT_EQ(d.find("<s>"), 0);
  EXPECT_EQ(d.find("</s>"), 2);
  EXPECT_EQ(d.find("ie"), 7);
}

TEST(FairseqDictionary, RefusesWhatIsNotOne) {
  EXPECT_THAT(fairseq_error(""), HasSubstr("dict.txt: the dictionary is empty; give the one"));
  EXPECT_THAT(fairseq_error("a 1\nb\n"), HasSubstr("dict.txt: line 2: expected a piece and its count"));
  EXPECT_THAT(fairseq_error("a 1\n\nb 1\n"), HasSubstr("line 2: expected"));
  EXPECT_THAT(fairseq_error("a x\n"), HasSubstr("name the file .yml"));
  EXPECT_THAT(fairseq_error("a b 1\n"),
              HasSubstr("line 1: 'a b' cannot be a piece; pieces are not empty and hold no space. Remove the line"));
  EXPECT_THAT(fairseq_error("a 1\na 1\n"),
              AllOf(HasSubstr("line 2: 'a' has the id 4 already"), HasSubstr("overwrite")));
  EXPECT_THAT(fairseq_error("<unk> 1\n"), HasSubstr("line 1: '<unk>' has the id 3 already"));
  EXPECT_THAT(fairseq_error("\xFF 1\n"), HasSubstr("line 1: not valid UTF-8; convert"));
}

TEST(MarianDictionary, ReadsKeysInEveryStyle) {
  const Dictionary d = parse_marian_dictionary(
      "---\n# written by hand\n</s>: 0\n<unk>: 1\n\"\\\"\": 2\n'it''s': 3\n\"\\x41\\u00e9\\U0001F600\": 4\n::  5\n"
      "a:b: 6\r\n\"\\\\\" : 7\n\n...\n",
      "vocab.yml");
  EXPECT_THAT(d.pieces, ElementsAre("</s>", "<unk>", "\"", "it's", "A\xC3\xA9\xF0\x9F\x98\x80", ":", "a:b", "\\"));
  EXPECT_EQ(d.find("x"), 1);
  EXPECT_THAT(
      parse_marian_dictionary("<unk>: 0\n\"null\": 1\n\"~\": 2\n12: 3\ntrue: 4\n\"\\_\": 5\n\"\\N\": 6\n", "v").pieces,
      ElementsAre("<unk>", "null", "~", "12", "true", "\u00A0", "\u0085"));
  // yaml-cpp writes long keys and those with line ends like this.
  EXPECT_THAT(
      parse_marian_dictionary("? <unk>\n: 0\n? \"\\u2581a\"\n: 1\nb: 2\n? |-\n  x\n: 3\n? 12\n: 4\n", "v").pieces,
      ElementsAre("<unk>", "\u2581a", "b", "x", "12"));
  EXPECT_EQ(parse_marian_dictionary("{\"<unk>\": 1, \"a\": 2, \"</s>\": 0}", "v").pieces,
            (std::vector<std::string>{"</s>", "<unk>", "a"}));
}

TEST(MarianDictionary, RefusesWhatIsNotOne) {
  EXPECT_THAT(marian_error(""), HasSubstr("vocab.yml: holds no pieces with ids; write each piece, a colon"));
  EXPECT_THAT(marian_error("a\n"), HasSubstr("vocab.yml: holds no pieces with ids"));
  EXPECT_THAT(marian_error("a: 0\n"), HasSubstr("vocab.yml: <unk> is missing; add it"));
  EXPECT_THAT(marian_error("<unk>: 0\na\n"),
              AllOf(HasSubstr("vocab.yml: 'a': expected an id from 0, not null; write"), HasSubstr("quotes")));
  EXPECT_THAT(marian_error("<unk>: 0\na: -1\n"), HasSubstr("'a': expected an id from 0, not -1"));
  EXPECT_THAT(marian_error("<unk>: 0\na: 1073741824\n"), HasSubstr("'a': expected an id from 0, not 1073741824"));
  EXPECT_THAT(marian_error("<unk>: 0\na: '1'\n"), HasSubstr("'a': expected an id from 0, not \"1\""));
  EXPECT_THAT(marian_error("<unk>: 0\n\"a: 1\n"), HasSubstr("'a: 1 ' cannot be a piece"));
  EXPECT_THAT(marian_error("<unk>: 0\n\"\\q\": 1\n"), AllOf(HasSubstr("vocab.yml: line 2"), HasSubstr("quotes")));
  EXPECT_THAT(marian_error("<unk>: 0\n\"\\uD800\": 1\n"), HasSubstr("vocab.yml: line 2"));
  EXPECT_THAT(marian_error("<unk>: 0\n@@: 1\n"), AllOf(HasSubstr("vocab.yml: line 2"), HasSubstr("quotes")));
  EXPECT_THAT(marian_error("<unk>: 0\nnull: 1\n"), AllOf(HasSubstr("line 2"), HasSubstr("as \"null\"")));
  EXPECT_THAT(marian_error("<unk>: 0\n\"\": 1\n"), HasSubstr("'' cannot be a piece"));
  EXPECT_THAT(marian_error("<unk>: 0\na: 1\na: 2\n"), HasSubstr("line 3, column 1: the key 'a' stands here twice"));
  EXPECT_THAT(marian_error("<unk>: 0\na: 2\n"),
              HasSubstr("'a' has the id 2, but there are 2 pieces; ids must run from 0 without a gap: put back"));
  EXPECT_THAT(marian_error("<unk>: 0\nb: 1\na: 1\n"), HasSubstr("'a' and 'b' share the id 1; give"));
  EXPECT_THAT(marian_error("{\"<unk>\": 0, \"a\": \"1\"}"), HasSubstr("'a': expected an id from 0, not \"1\""));
  EXPECT_THAT(marian_error("{\"<unk>\": 0"), HasSubstr("vocab.yml"));
  EXPECT_THAT(marian_error("{\"<unk>\": 1E999}"), AllOf(HasSubstr("vocab.yml: not valid JSON"), HasSubstr("1E999")));
}

/// A small file of aliases stands for a large tree.
TEST(MarianDictionary, HasTheLimitsOfOtherYaml) {
  std::string bomb = "<unk>: 0\na: &a [x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'j'; ++c)
    bomb += fmt::format("{0}: &{0} [*{1}, *{1}, *{1}, *{1}, *{1}]\n", c, static_cast<char>(c - 1));
  EXPECT_THAT(marian_error(bomb), AllOf(HasSubstr("vocab.yml: line"), HasSubstr("too many values")));
  EXPECT_THAT(marian_error("<unk>: 0\na: " + std::string(100, '[') + std::string(100, ']')),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(marian_error(std::string(std::size_t{17} << 20, ' ')), HasSubstr("larger than"));
}

class DictionaryTokenizerTest : public ::testing::Test {
 protected:
  std::unique_ptr<Tokenizer> open(const std::string& dictionary_name, const std::string& dictionary) const {
    core::write_file(folder_ / "codes", "#version: 0.2\nt h\nth e</w>\nr i\n");
    core::write_file(folder_ / dictionary_name, dictionary);
    return open_tokenizer_file(folder_ / "codes", {.dictionary = folder_ / dictionary_name});
  }
  testing::TemporaryFolder folder_;
};

/// "x@@" and "é" stand in no merge, so the codes do not know them; the line that fairseq reads has them all the same.
TEST_F(DictionaryTokenizerTest, LooksUpThePiecesOfTheLine) {
  const auto tokenizer = open("dict.txt", "the 9\nri@@ 5\nx@@ 4\n\xC3\xA9 3\nth@@ 2\n");
  EXPECT_EQ(tokenizer->size(), 9);
  EXPECT_THAT(tokenizer->encode("the rix\xC3\xA9 x\xC3\xA9 thx"), ElementsAre(4, 5, 6, 7, 6, 7, 8, 3));
  EXPECT_EQ(tokenizer->encode_pieces("the x\xC3\xA9"), (std::vector<Piece>{{4, 0, 3}, {6, 4, 5}, {7, 5, 7}}));
  EXPECT_EQ(tokenizer->decode(std::vector<std::int32_t>{0, 4, 5, 6, 7, 2}), "the rix\xC3\xA9");
  EXPECT_THAT(testing::encoded_lines(*tokenizer, {"the xq"}), ElementsAre("the x@@ <unk>"));
  EXPECT_THAT(testing::decoded_lines(*tokenizer, {"the x@@ \xC3\xA9"}), ElementsAre("the x\xC3\xA9"));
  EXPECT_TRUE(tokenizer->is_special(3));
  EXPECT_EQ(tokenizer->id("ri@@"), 5);
  EXPECT_EQ(tokenizer->piece(5), "ri@@");
  EXPECT_THAT(testing::error_of([&] { tokenizer->piece(9); }), HasSubstr("0 to 8"));
}

TEST_F(DictionaryTokenizerTest, TheNameTellsMarianFromFairseq) {
  EXPECT_THAT(open("vocab.yml", "</s>: 0\n<unk>: 1\nthe: 2\n")->encode("the the q"), ElementsAre(2, 2, 1));
  EXPECT_THAT(testing::error_of([&] { open("dict.txt", "</s>: 0\n</s>: 0\n"); }), HasSubstr("dict.txt: line 2"));
}

TEST_F(DictionaryTokenizerTest, WordsWithMarksInFrontDecodeAsTheirTokenizerDoes) {
  core::write_file(folder_ / "dict.txt", "\xE2\x96\x81the 1\n\xE2\x96\x81 1\nr 1\nmadeupword0000 0\n");
  const auto tokenizer =
      open_tokenizer_file(testing::golden_file("default.tokenizer.json"), {.dictionary = folder_ / "dict.txt"});
  EXPECT_EQ(tokenizer->decode(std::vector<std::int32_t>{4, 5, 6, 7, 3}), "the rmadeupword0000")
      << "a piece that is listed and nowhere else is text, as to fairseq";
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("the r")), "the r");
}

/// Of fairseq and Marian, which read `spm_encode`'s lines: unknown text stands there as it is.
TEST_F(DictionaryTokenizerTest, TextUnknownToAModelIsLookedUpAsText) {
  LearnUnigramOptions unigram{.vocab_size = 8, .character_coverage = 1, .byte_fallback = false, .normalization = {}};
  core::write_file(folder_ / "corpus", "ab ab ab a b\n");
  write_tokenizer_file(learn_unigram({folder_ / "corpus"}, unigram), FileKind::kSentencePiece, folder_ / "unigram");
  LearnOptions merges{.vocab_size = 10};
  merges.byte_fallback = false;
  merges.written_as = FileKind::kSentencePiece;
  merges.sentencepiece.emplace().name = "identity";
  write_tokenizer_file(learn_bpe({folder_ / "corpus"}, merges).definition(), FileKind::kSentencePiece,
                       folder_ / "merges");
  core::write_file(folder_ / "dict.txt", "\u2581ab 5\n\u2581 3\n7 2\n89 1\n");
  for (const char* model : {"unigram", "merges"}) {
    const auto tokenizer = open_tokenizer_file(folder_ / model, {.dictionary = folder_ / "dict.txt"});
    EXPECT_THAT(tokenizer->encode("ab 7"), ElementsAre(4, 5, 6)) << model;
    EXPECT_THAT(tokenizer->encode("ab 89 7"), ElementsAre(4, 5, 7, 5, 6)) << model << ": a run is one piece";
    EXPECT_THAT(tokenizer->encode("ab 8"), ElementsAre(4, 5, 3)) << model << ": the dictionary does not list it";
    EXPECT_EQ(tokenizer->decode(std::vector<std::int32_t>{4, 5, 6, 5, 7}), "ab 7 89") << model;
    EXPECT_EQ(tokenizer->encode_pieces("ab 7").back(), (Piece{6, 3, 4})) << model;
    const auto plain = load_tokenizer(folder_ / model);
    EXPECT_THAT(testing::encoded_lines(*plain, {"ab 7", "89 ab"}),
                ElementsAre("\u2581ab \u2581 7", "\u2581 89 \u2581ab"))
        << model;
    EXPECT_THAT(testing::decoded_lines(*plain, {"\u2581ab \u2581 7", "7 \u2581ab", "8\u25819"}),
                ElementsAre("ab 7", "7 ab", "8 9"))
        << model;
  }
}

TEST_F(DictionaryTokenizerTest, IsNotConverted) {
  open("dict.txt", "a 1\n");
  EXPECT_THAT(testing::error_of([&] { read_tokenizer_file(folder_ / "codes", {.dictionary = folder_ / "dict.txt"}); }),
              HasSubstr("cannot be converted"));
}

TEST(Dictionaries, ChangedFilesAreDictionariesOrErrors) {
  std::mt19937 random(23);
  int accepted = 0;
  int refused = 0;
  const auto folder = testing::source_folder() / "tests" / "fuzz" / "corpus" / "dictionary";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string seed = core::read_file(file.path());
    ASSERT_TRUE(fuzz::exercise_dictionary(seed)) << file.path();
    for (int i = 0; i < 3000; ++i) {
      std::string changed = seed;
      for (int n = 0; n < 2; ++n) changed[1 + random() % (changed.size() - 1)] = static_cast<char>(random());
      ++(fuzz::exercise_dictionary(changed) ? accepted : refused);
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace dragoman::tokenizer

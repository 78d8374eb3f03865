#include "program.h"

#include <gmock/gmock.h>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;

/// What the options of learn-bpe do, and what it says if they are wrong.
class LearnerOptionsTest : public ::testing::Test {
 protected:
  LearnerOptionsTest() { write("text.txt", "low low lower lowest\nnew newer 12 123\n"); }
  void write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  std::string content(const std::string& name) { return file_content(folder_ / name); }
  /// Learns from text.txt without a word on standard error.
  void learn(const std::string& arguments) {
    const Outcome outcome = run_dragoman(folder_.path(), "learn-bpe --quiet --input text.txt " + arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << "\n" << outcome.error;
  }
  std::string encoded(const std::string& tokenizer, const std::string& text = "text.txt") {
    return run_dragoman(folder_.path(), "encode --quiet -t " + tokenizer + " -i " + text).output;
  }
  /// The last line on standard error names the fault, and nothing is written.
  void expect_refused(const std::string& arguments, int status, const std::string& part) {
    const std::string output = arguments.find("--output") == std::string::npos ? "--output x " : "";
    const Outcome outcome = run_dragoman(folder_.path(), "learn-bpe --quiet --input text.txt " + output + arguments);
    EXPECT_EQ(outcome.status, status) << arguments << "\n" << outcome.error;
    EXPECT_THAT(outcome.error, HasSubstr(part)) << arguments;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "x")) << arguments;
  }

  TemporaryFolder folder_;
};

TEST_F(LearnerOptionsTest, OptionsThatWereRemovedSayWhatToUse) {
  for (const std::string option :
       {"--reproduce subword-nmt", "--merges 10", "--total-symbols", "--words spaces", "--add-prefix-space",
        "--limit-alphabet 10", "--max-token-length=3", "--end-of-word-suffix '</w>'"}) {
    const std::string name = option.substr(0, option.find_first_of(" ="));
    expect_refused(option, 2, name + " was removed in this release: learn with subword-nmt or tokenizers itself");
  }
  expect_refused("--reproduces x", 2, "unrecognised option '--reproduces'");
}

TEST_F(LearnerOptionsTest, TrainNoLongerWaitsForOtherProcesses) {
  const Outcome outcome = run_dragoman(folder_.path(), "train train.yml --join-timeout 60");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.error, HasSubstr("--join-timeout was removed in this release: leave it out; `mpirun`"));
}

TEST_F(LearnerOptionsTest, SeveralSizesAreWrittenAsAnyKind) {
  learn("--vocab-size 275 280 --to sentencepiece --output 'v{size}.model'");
  learn("--vocab-size 275 --to sentencepiece --output alone.model");
  EXPECT_EQ(content("v275.model"), content("alone.model"));
  EXPECT_EQ(content("v275.model").substr(0, 2), "\n\x0E") << "a message of pieces, not JSON";
  EXPECT_NE(content("v280.model"), content("v275.model"));
  expect_refused("--vocab-size 275 280", 2, "vocab-{size}.json");
  expect_refused("--vocab-size 0", 2, "must be a whole number from 1 to");
  expect_refused("--vocab-size 100 280 --output 'x{size}'", 1, "a vocabulary of 100 is too small");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x280")) << "the smallest size is checked first";
}

TEST_F(LearnerOptionsTest, KindsThatCannotBeWrittenAreRefused) {
  expect_refused("--vocab-size 280 --to wordpiece", 2, "must be one of: tokenizer-json");
  for (const char* kind : {"subword-nmt", "fastbpe", "gpt2", "tiktoken", "youtokentome"})
    expect_refused(std::string("--vocab-size 280 --to ") + kind, 2, "must be tokenizer-json or sentencepiece");
}

TEST_F(LearnerOptionsTest, SymbolsComeFromAFile) {
  write("symbols", "<ph>\r\n\nnew\n");
  learn("--vocab-size 285 --user-symbols-file symbols --output s.json");
  EXPECT_THAT(encoded("s.json"), HasSubstr("\nnew \u2581 \u2581 new \u2581 er "));
  learn("--vocab-size 285 --user-symbol '<ph>' new --output same.json");
  EXPECT_EQ(content("same.json"), content("s.json"));
  write("spaced", "<ph>\na b\n");
  learn("--vocab-size 285 --user-symbols-file spaced --output spaced.json");
  EXPECT_THAT(content("spaced.json"), HasSubstr("\"content\":\"a b\""));
  write("latin", "\xE9\n");
  expect_refused("--user-symbols-file latin", 1, "latin: line 1 is not valid UTF-8; save the file as UTF-8");
  write("twice", "<ph>\n<ph>\n");
  expect_refused("--user-symbols-file twice", 1, "'<ph>' is given twice");
  expect_refused("--user-symbols-file nowhere", 1, "nowhere: cannot open");
}

TEST_F(LearnerOptionsTest, PunctuationStandsAlone) {
  write("text.txt", "(low) low. (low) low.\n");
  learn("--vocab-size 290 --split-punctuation --output p.json");
  EXPECT_EQ(encoded("p.json"), "\u2581( low ) \u2581low . \u2581( low ) \u2581low .\n");
  expect_refused("--vocab-size 280 --split-punctuation --to sentencepiece", 1, "no place for cutting at punctuation");
}

/// A text with the mark and a token of one character comes back, whatever it looks like in pieces.
TEST_F(LearnerOptionsTest, MarksAndTokensOfOneCharacterInTheTextComeBack) {
  write("text.txt", "low \u266A lower\n\u2581 low\u2581er \u241B\n");
  const auto round_trip = [&] {
    EXPECT_EQ(run_dragoman(folder_.path(), "encode --quiet -t t.json -i text.txt --format ids -o ids").status, 0);
    return run_dragoman(folder_.path(), "decode --quiet -t t.json -i ids --format ids -o back.txt");
  };
  learn("--vocab-size 290 --special '<unk>' \u266A --output t.json");
  EXPECT_EQ(round_trip().status, 0);
  EXPECT_EQ(content("back.txt"), content("text.txt"));
  const Outcome converted = run_dragoman(folder_.path(), "convert t.json --output spm.model");
  EXPECT_EQ(converted.status, 1) << "SentencePiece has no escape for the token";
  learn("--vocab-size 290 --no-escape --output t.json");
  EXPECT_EQ(round_trip().status, 0);
  EXPECT_EQ(content("back.txt"), "low \u266A lower\n  low er \u241B\n");
}

TEST_F(LearnerOptionsTest, ConvertSaysThatSentencePieceHasNoEscapes) {
  learn("--vocab-size 280 --output t.json");
  const Outcome converted = run_dragoman(folder_.path(), "convert t.json --output spm.model");
  EXPECT_EQ(converted.status, 0);
  EXPECT_THAT(converted.error, HasSubstr("SentencePiece has no escape for U+2581"));
  learn("--vocab-size 280 --to sentencepiece --output learned.model");
  EXPECT_EQ(content("spm.model"), content("learned.model"));
}

/// Such an option takes every word up to the next one, so a corpus behind it would become a symbol.
TEST_F(LearnerOptionsTest, AnInputFileIsNotTakenForASymbol) {
  std::ofstream(folder_ / "more.txt") << "some more text\n";
  for (const std::string option : {"--user-symbol '<x>'", "--special '<unk>'"}) {
    const std::string name = option.substr(0, option.find(' '));
    expect_refused("--vocab-size 280 " + option + " more.txt", 2, name + ": 'more.txt' is a file");
    const Outcome unigram =
        run_dragoman(folder_.path(), "learn-unigram --input text.txt --vocab-size 30 -o u " + option + " more.txt");
    EXPECT_EQ(unigram.status, 2);
    EXPECT_THAT(unigram.error, HasSubstr(name + ": 'more.txt' is a file"));
  }
  learn("--vocab-size 280 --output t.json --user-symbol more.txt '<x>'");
  const std::string extend = "vocab extend t.json --output e.json --user-symbol '<y>' ";
  EXPECT_THAT(run_dragoman(folder_.path(), extend + "more.txt").error, HasSubstr("'more.txt' is a file"));
  EXPECT_EQ(run_dragoman(folder_.path(), extend + "nothing").status, 0);
}

/// A piece that the format cannot hold is not learned, so that nothing is refused after the work is done.
TEST_F(LearnerOptionsTest, ALineOfOneCharacterBecomesASentencePieceModel) {
  write("long.txt", std::string(100000, '=') + "\n");
  const Outcome outcome =
      run_dragoman(folder_.path(), "learn-bpe --quiet --input long.txt --vocab-size 400 --output long.model");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(run_dragoman(folder_.path(), "encode -q -t long.model -i long.txt -o pieces").status, 0);
  EXPECT_EQ(run_dragoman(folder_.path(), "decode -q -t long.model -i pieces").output, content("long.txt"));
}

TEST_F(LearnerOptionsTest, TheNameOfTheOutputDecidesItsKind) {
  learn("--vocab-size 275 --output a.model");
  learn("--vocab-size 275 --to sentencepiece --output b");
  EXPECT_EQ(content("a.model"), content("b"));
  learn("--vocab-size 275 --to tokenizer-json --output c.model");
  learn("--vocab-size 275 --output d");
  EXPECT_EQ(content("c.model"), content("d"));
  expect_refused("--vocab-size 275 --lowercase --output x.model", 1, "normalisation");
  const Outcome unigram = run_dragoman(folder_.path(), "learn-unigram --vocab-size 30 --output x.json text.txt");
  EXPECT_EQ(unigram.status, 2);
  EXPECT_THAT(unigram.error, HasSubstr("x.json: learn-unigram writes SentencePiece models; name it .model"));
}

TEST_F(LearnerOptionsTest, DigitsStandAlone) {
  learn("--vocab-size 290 --split-digits --output d.json");
  EXPECT_THAT(encoded("d.json"), HasSubstr("\u2581 1 2 \u2581 1 2 3\n"));
  learn("--vocab-size 290 --output whole.json");
  EXPECT_THAT(encoded("whole.json"), HasSubstr("\u258112 \u258112 3\n"));
  learn("--vocab-size 290 --split-digits --to sentencepiece --output d.model");
  EXPECT_EQ(encoded("d.model"), encoded("d.json")) << "a model needs no cuts where no merge reaches over a digit";
  learn("--vocab-size 290 --split-digits --to sentencepiece --normalization nmt_nfkc --output map.model");
  EXPECT_THAT(encoded("map.model"), HasSubstr("\u2581 1 2 \u2581 1 2 3\n"));
  learn("--vocab-size 290 --split-digits --to sentencepiece --no-byte-fallback --output unknown.model");
  EXPECT_THAT(encoded("unknown.model"), HasSubstr("\u2581 1 2 \u2581 1 2 3\n"));
  const auto converted = [&](const std::string& from) {
    return run_dragoman(folder_.path(), "convert --to sentencepiece -o c.model " + from);
  };
  EXPECT_EQ(converted("d.json").status, 0);
  EXPECT_EQ(encoded("c.model"), encoded("d.json"));
}

}  // namespace
}  // namespace dragoman::testing

#include "program.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;

class LearnUnigramCommandTest : public ::testing::Test {
 protected:
  LearnUnigramCommandTest() {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "the river and the road to the river; \xEF\xBC\xA1 road and a river\n";
    write("text.txt", text);
  }
  void write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  std::string must(const std::string& arguments) {
    const Outcome outcome = run_dragoman(folder_.path(), arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << "\n" << outcome.error;
    return outcome.output;
  }
  void expect_refused(const std::string& arguments, int status, const std::string& part) {
    const Outcome outcome = run_dragoman(folder_.path(), arguments);
    EXPECT_EQ(outcome.status, status) << arguments << "\n" << outcome.error;
    EXPECT_THAT(outcome.error, HasSubstr(part)) << arguments;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "x")) << arguments;
  }

  TemporaryFolder folder_;
};

TEST_F(LearnUnigramCommandTest, LearnsEncodesAndDecodes) {
  must("learn-unigram --quiet --vocab-size 40 --no-byte-fallback --user-symbol '<sep>' --output spm.model text.txt");
  write("line.txt", "the  \xEF\xBC\xA1 river<sep>road\n");
  EXPECT_EQ(must("encode -t spm.model line.txt"),
            "\xE2\x96\x81the \xE2\x96\x81"
            "A \xE2\x96\x81river <sep> r o a d\n");
  must("encode -t spm.model --format ids line.txt -o ids");
  EXPECT_EQ(must("decode -t spm.model --format ids ids"), "the A river<sep>road\n");
  must("count-words --quiet --input text.txt --output counts");
  must(
      "learn-unigram --quiet --vocab-size 40 --no-byte-fallback --user-symbol '<sep>' --output again.model --counts "
      "counts");
  EXPECT_EQ(file_content(folder_ / "again.model"), file_content(folder_ / "spm.model"));
}

TEST_F(LearnUnigramCommandTest, AModelIsTrainedWithIt) {
  must("learn-unigram --quiet --vocab-size 60 --no-byte-fallback --output spm.model text.txt");
  write("train.yml", R"(
output: run
model: {type: transformer, d_model: 16, heads: 2, feed_forward: 16, encoder_layers: 1, decoder_layers: 1}
data:
  train: {source: text.txt, target: text.txt}
  validation: {source: text.txt, target: text.txt}
  tokenizer: {file: spm.model, type: sentencepiece}
training: {updates: 4, batch_tokens: 256}
validation: {every: 4, samples: 0}
checkpoint: {every: 4}
)");
  must("train --quiet --config train.yml");
  write("line.txt", "the road\n\n");
  const std::string translated = must("translate --quiet --model run/best line.txt");
  EXPECT_EQ(std::ranges::count(translated, '\n'), 2);
}

TEST_F(LearnUnigramCommandTest, RulesOfOnesOwnNormaliseForBothKinds) {
  write("rules.tsv", "72\t52\n26\t\n");  // r becomes R, & vanishes
  write("line.txt", "ri&ver\n");
  must(
      "learn-unigram --quiet --vocab-size 45 --no-byte-fallback --normalization-rule-tsv rules.tsv -o u.model "
      "text.txt");
  must(
      "learn-bpe --quiet --vocab-size 45 --no-byte-fallback --to sentencepiece --normalization-rule-tsv rules.tsv -o "
      "b.model text.txt");
  for (const std::string model : {"u.model", "b.model"})
    EXPECT_EQ(must("encode -t " + model + " line.txt"), "\xE2\x96\x81RiveR\n") << model;
  must(
      "learn-bpe --quiet --vocab-size 45 --no-byte-fallback --to sentencepiece --normalization nmt_nfkc_cf -o cf.model "
      "text.txt");
  write("line.txt", "\xEF\xBC\xB2IVER\n");
  EXPECT_EQ(must("encode -t cf.model line.txt"), "\xE2\x96\x81river\n");
}

TEST_F(LearnUnigramCommandTest, EncodesAsSpmEncodeDoes) {
  must("learn-unigram --quiet --vocab-size 40 --no-byte-fallback --output spm.model text.txt");
  write("line.txt", "the river\n\n");
  const std::string mark = "\xE2\x96\x81";
  EXPECT_EQ(must("encode -t spm.model --add-bos --add-eos line.txt"),
            "<s> " + mark + "the " + mark + "river </s>\n<s> </s>\n");
  EXPECT_EQ(must("encode -t spm.model --add-eos --eos '<s>' --reverse line.txt"),
            mark + "river " + mark + "the <s>\n<s>\n");
  const std::string best = must("encode -t spm.model --n-best 3 line.txt");
  EXPECT_THAT(best, HasSubstr("{\"n_best\":[{\"pieces\":[\"" + mark + "the\",\"" + mark + "river\"],\"score\":-"));
  EXPECT_EQ(std::ranges::count(best, '\n'), 2);
  must("encode -t spm.model --sample 0.1 --seed 3 text.txt -o one");
  must("encode -t spm.model --sample 0.1 --seed 3 --threads 2 text.txt -o two");
  EXPECT_EQ(file_content(folder_ / "one"), file_content(folder_ / "two"));
  EXPECT_NE(file_content(folder_ / "one"), must("encode -t spm.model text.txt"));
  EXPECT_EQ(must("decode -t spm.model one"), must("decode -t spm.model two"));
  must("learn-bpe --quiet --vocab-size 300 --output t.json text.txt");
  EXPECT_EQ(must("encode -t t.json --sample 0.3 --seed 2 text.txt"),
            must("encode -t t.json --mode dropout --dropout 0.3 --seed 2 text.txt"));
  EXPECT_EQ(must("encode -t t.json --from tokenizer-json line.txt"), must("encode -t t.json line.txt"));
  expect_refused("encode -t t.json --n-best 3 line.txt -o x", 1, "of the type unigram have n best ones");
  write("words.json", R"({"version": "1.0", "added_tokens": [], "model": {"type": "WordLevel", "unk_token": "u",)"
                      R"( "vocab": {"u": 0, "the river": 1}}})");
  write("unigram.json", R"({"version": "1.0", "added_tokens": [], "model": {"type": "Unigram", "unk_id": 0,)"
                        R"( "vocab": [["u", 0], ["the river", -1]]}})");
  expect_refused("encode -t words.json --format ids --sample 0.1 line.txt -o x", 1, "use the mode exact");
  expect_refused("encode -t unigram.json --format ids --sample 0.1 line.txt -o x", 1,
                 "open the SentencePiece model file (.model)");
  expect_refused("encode -t unigram.json --format ids --n-best 2 line.txt -o x", 1,
                 "open the model file if a tokenizer.json");
  expect_refused("encode -t spm.model --n-best 2 --match-special line.txt -o x", 2, "leave out --match-special");
  expect_refused("encode -t t.json --sample 2 line.txt -o x", 2, "from 0 to 1");
  expect_refused("encode -t t.json --sample 0.1 --sample-from 4 line.txt -o x", 2, "unigram");
  expect_refused("encode -t t.json --sample-from 4 line.txt -o x", 2, "--sample only");
  expect_refused("encode -t spm.model --add-bos --bos '<none>' line.txt -o x", 1, "no piece <none>");
  expect_refused("encode -t spm.model --from tiktoken line.txt -o x", 1, "spm.model");
}

TEST_F(LearnUnigramCommandTest, RefusesWhatCannotBe) {
  expect_refused("learn-unigram -o x", 2, "either --input or --counts");
  expect_refused("learn-unigram -o x --normalization nfc text.txt", 2, "nmt_nfkc");
  expect_refused("learn-unigram -o x --shrinking-factor 2 text.txt", 2, "--shrinking-factor");
  expect_refused("learn-unigram -o x --vocab-size 5 text.txt", 1, "need at least");
  expect_refused("learn-unigram -o no/x text.txt", 1, "there is no folder no");
  write("rules.tsv", "41\t61\nz\n");
  expect_refused("learn-unigram -o x --normalization-rule-tsv rules.tsv text.txt", 1, "rules.tsv: line 2");
  expect_refused("learn-unigram -o rules.tsv --normalization-rule-tsv rules.tsv text.txt", 2, "rules.tsv");
  expect_refused("learn-bpe -o x --normalization nmt_nfkc text.txt", 2, "--to sentencepiece");
  expect_refused("learn-bpe -o x --normalization-rule-tsv rules.tsv text.txt", 2, "--to sentencepiece");
  expect_refused("learn-bpe -o x --to sentencepiece --normalization nmt_nfkc --split-case text.txt", 1,
                 "no place for cutting");
}

}  // namespace
}  // namespace dragoman::testing

// --metrics with spaces, and the tokenizers of BLEU that are models.
#include "program.h"

#include <gmock/gmock.h>

#include <dragoman/core/json.h>
#include <dragoman/formats/checksums.h>

namespace dragoman::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class EvaluateOptions : public ::testing::Test {
 protected:
  EvaluateOptions() {
    std::ofstream(folder_ / "out") << "the cat sat on the mat\nthe theme\n";
    std::ofstream(folder_ / "ref") << "the cat sat on a mat\nthe theme\n";
  }
  Outcome run(const std::string& arguments) const { return run_dragoman(folder_.path(), arguments); }
  std::string output_of(const std::string& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << ": " << outcome.error;
    return outcome.output;
  }

  TemporaryFolder folder_;
};

TEST_F(EvaluateOptions, MetricsMayHaveSpacesBetween) {
  const std::string expected = output_of("evaluate out --reference ref --metrics bleu,chrf,ter");
  EXPECT_THAT(expected, AllOf(HasSubstr("BLEU"), HasSubstr("chrF2"), HasSubstr("TER")));
  for (const char* way : {"evaluate out -r ref -m bleu chrf ter", "evaluate out -r ref -m bleu -m chrf -m ter",
                          "evaluate -m bleu chrf ter -r ref -i out", "evaluate -r ref -m bleu chrf,ter out",
                          "evaluate -m bleu chrf ter out -r ref"})
    EXPECT_EQ(output_of(way), expected) << way;
  EXPECT_EQ(output_of("evaluate out -r ref"), output_of("evaluate -m bleu out -r ref"));
  EXPECT_THAT(run("evaluate out -r ref -m bleu chrff").error, HasSubstr("chrff"));
  EXPECT_EQ(run("evaluate out -r ref -m bleu chrff").status, 2);
  EXPECT_EQ(run("evaluate out -r ref -m bleu chrf --sentence-level").status, 2);
}

TEST_F(EvaluateOptions, TokenizersMayBeModels) {
  output_of("learn-bpe out --vocab-size 300 --to sentencepiece --output spm.model --quiet");
  const std::string pieces = output_of("encode out --tokenizer spm.model");
  std::ofstream(folder_ / "out.pieces") << pieces;
  std::ofstream(folder_ / "ref.pieces") << output_of("encode ref --tokenizer spm.model");
  const auto score = [](const std::string& json) { return core::Json::parse(json)["score"].get<double>(); };
  const double expected = score(output_of("evaluate out.pieces -r ref.pieces --tokenize none --json --width 6"));
  // Nothing shows that the model is sacreBLEU's.
  const std::string sum = formats::sha256_of_file(folder_ / "spm.model").substr(0, 12);
  for (const std::string option : {"spm", "flores101", "flores200", "spBLEU-1K"}) {
    const std::string json =
        output_of("evaluate out -r ref --tokenize " + option + " --tokenize-model spm.model --json --width 6");
    EXPECT_EQ(score(json), expected);
    EXPECT_EQ(core::Json::parse(json)["tok"], "spm-" + sum);
  }
  EXPECT_NE(expected, score(output_of("evaluate out -r ref --json --width 6")));
  // Where sacreBLEU keeps them.
  std::filesystem::create_directories(folder_ / "home/models");
  std::filesystem::copy(folder_ / "spm.model", folder_ / "home/models/flores200sacrebleuspm");
  ::setenv("SACREBLEU", (folder_ / "home").c_str(), 1);
  std::filesystem::copy(folder_ / "spm.model", folder_ / "home/models/spbleu-1k_tokenizer_spm.model");
  for (const std::string name : {"flores200", "spBLEU-1K"}) {
    const std::string json = output_of("evaluate out -r ref --json --width 6 --tokenize " + name);
    EXPECT_EQ(score(json), expected);
    EXPECT_EQ(core::Json::parse(json)["tok"], name);
  }
  EXPECT_THAT(run("evaluate out -r ref --tokenize spm").error,
              AllOf(HasSubstr("home/models/sacrebleu_tokenizer_spm.model"), HasSubstr("--tokenize-model")));
  for (const std::string metrics : {"chrf", "ter", "chrf,ter"})
    EXPECT_EQ(output_of("evaluate out -r ref --tokenize spm -m " + metrics),
              output_of("evaluate out -r ref -m " + metrics));
  EXPECT_EQ(run("evaluate out -r ref -m chrf --tokenize some").status, 2);
  ::unsetenv("SACREBLEU");
  output_of("learn-bpe out --vocab-size 300 --output tokenizer.json --quiet");
  EXPECT_THAT(run("evaluate out -r ref --tokenize flores200 --tokenize-model tokenizer.json").error,
              AllOf(HasSubstr("tokenizer.json: "), HasSubstr("kind tokenizer-json"), HasSubstr("SentencePiece")));
  EXPECT_THAT(run("evaluate out -r ref --tokenize zh --tokenize-model spm.model").error, HasSubstr("needs no model"));
  EXPECT_THAT(run("evaluate out -r ref --tokenize ko-mecab").error, HasSubstr("--tokenize none"));
  EXPECT_THAT(run("evaluate out -r ref --tokenize ja-mecab --tokenize-model missing").error,
              AnyOf(HasSubstr("missing: is not a folder with a dictionary of MeCab"), HasSubstr("libmecab2")));
  EXPECT_THAT(run("evaluate out -r ref --tokenize some").error, AllOf(HasSubstr("zh"), HasSubstr("flores200")));
}

}  // namespace
}  // namespace dragoman::testing

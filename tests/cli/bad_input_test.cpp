#include "program.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;

class BadInputTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }

  /// One line on standard error that begins with the program's name, and the expected status.
  void expect_complaint(const std::string& arguments, int status, const std::string& part) {
    const Outcome outcome = run_dragoman(folder_.path(), arguments);
    EXPECT_EQ(outcome.status, status) << arguments << "\n" << outcome.error;
    EXPECT_THAT(outcome.error, HasSubstr(part)) << arguments;
    EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
    EXPECT_EQ(outcome.error.rfind("dragoman: ", 0), 0U) << outcome.error;
  }

  TemporaryFolder folder_;
};

TEST_F(BadInputTest, WrongUsageHasStatusTwo) {
  expect_complaint("tranlate", 2, "did you mean 'translate'");
  expect_complaint("translate --modle x", 2, "--help");
  expect_complaint("translate", 2, "model");
  expect_complaint("learn-bpe --vocab-size many --input a --output b", 2, "vocab-size");
  expect_complaint("learn-bpe --vocab-size 300 400 --input a --output b", 2, "vocab-{size}.json");
  expect_complaint("translate --model x --n-best 3", 2, "jsonl");
  expect_complaint("run p.yml --on-error never", 2, "keep or fail");
}

TEST_F(BadInputTest, MissingFilesAreNamed) {
  expect_complaint("translate --model nowhere", 1, "nowhere");
  expect_complaint("learn-bpe --input nowhere.txt --vocab-size 300 --output t.json", 1, "nowhere.txt");
  expect_complaint("encode --tokenizer nowhere.json", 1, "nowhere.json");
  expect_complaint("train --config nowhere.yml", 1, "nowhere.yml");
  expect_complaint("evaluate --hypothesis nowhere.txt --reference nowhere.txt", 1, "nowhere.txt");
  expect_complaint("run nowhere.yml", 1, "nowhere.yml");
  expect_complaint("inspect nowhere", 1, "nowhere");
}

TEST_F(BadInputTest, AForeignTokenizerIsRefused) {
  write("t.json", "{\"version\": \"1.0\", \"model\": {\"type\": \"WordPiece\"}}");
  expect_complaint("encode --tokenizer t.json", 1, "t.json");
  write("t.json", "not json at all");
  expect_complaint("encode --tokenizer t.json", 1, "t.json");
  write("t.json", "");
  expect_complaint("encode --tokenizer t.json", 1, "t.json");
}

TEST_F(BadInputTest, TokenizerFilesOfOthersAreConvertedVerifiedAndRefused) {
  write("codes", "#version: 0.2\nt h\nth e</w>\n");
  write("text.txt", "the other\ntheme\n");
  EXPECT_EQ(run_dragoman(folder_.path(), "encode --quiet --tokenizer codes --input text.txt").output,
            "the o@@ th@@ e@@ r\nth@@ e@@ m@@ e\n");
  EXPECT_EQ(run_dragoman(folder_.path(), "convert --quiet codes --output t.json").status, 0);
  const Outcome same = run_dragoman(folder_.path(), "verify --quiet codes t.json text.txt --format ids");
  EXPECT_EQ(same.status, 0) << same.error;
  EXPECT_EQ(same.output, "0 of 2 lines differ\n");
  write("other", "#version: 0.2\nh e\n");
  const Outcome different = run_dragoman(folder_.path(), "verify --quiet codes other text.txt --show 1");
  EXPECT_EQ(different.status, 1);
  EXPECT_EQ(different.output,
            "line 1\n  codes: the o@@ th@@ e@@ r\n  other: t@@ h@@ e o@@ t@@ he@@ r\n2 of 2 lines differ\n");
  EXPECT_THAT(run_dragoman(folder_.path(), "inspect codes").output, HasSubstr("subword-nmt"));
  expect_complaint("convert codes --output t.model", 1, "ends of words");
  expect_complaint("convert codes --output t", 2, "--to");
  expect_complaint("convert codes --output t --to wordpiece", 2, "sentencepiece");
  expect_complaint("convert codes --from tiktoken --output t.json", 1, "line 1");
  expect_complaint("encode --tokenizer codes --pattern words", 2, "cl100k");
}

TEST_F(BadInputTest, AnEmptyCorpusAndATooSmallVocabularyAreRefused) {
  write("empty.txt", "");
  expect_complaint("learn-bpe --quiet --input empty.txt --vocab-size 300 --output t.json", 1, "empty");
  write("text.txt", "abc abd\n");
  expect_complaint("learn-bpe --quiet --input text.txt --vocab-size 10 --output t.json", 1, "10");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "t.json"));
}

TEST_F(BadInputTest, SeveralSizesGiveAFileEachAndSizesBeforeInputsAreToldApart) {
  write("text.txt", "abc abd abc abd abe\n");
  EXPECT_EQ(run_dragoman(folder_.path(), "learn-bpe --output v{size}.json --vocab-size 266 267 text.txt").status, 0);
  EXPECT_EQ(run_dragoman(folder_.path(), "learn-bpe --output alone.json --vocab-size 266 text.txt").status, 0);
  EXPECT_EQ(file_content(folder_ / "v266.json"), file_content(folder_ / "alone.json"));
  EXPECT_THAT(file_content(folder_ / "v267.json"), HasSubstr("266"));
}

TEST_F(BadInputTest, FilesOfDifferentLengthAreNamedWithTheirCounts) {
  write("h", "a\nb\n");
  write("r", "a\n");
  const Outcome outcome = run_dragoman(folder_.path(), "evaluate --hypothesis h --reference r");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.error, ::testing::AllOf(HasSubstr("h"), HasSubstr("2"), HasSubstr("1")));
}

TEST_F(BadInputTest, AMistypedConfigurationKeyHasASuggestion) {
  write("c.yml", "output: run\ntraning: {updates: 3}\n");
  expect_complaint("train --config c.yml", 1, "did you mean 'training'");
}

TEST_F(BadInputTest, AFullDiskIsAnErrorNotASilence) {
  write("text.txt", "abc abd abc abd abe\n");
  run_dragoman(folder_.path(), "learn-bpe --quiet --input text.txt --vocab-size 270 --output t.json");
  expect_complaint("encode --quiet --tokenizer t.json --input text.txt --output /dev/full", 1, "/dev/full");
}

TEST_F(BadInputTest, HelpAndVersionGoToStandardOutput) {
  EXPECT_THAT(run_dragoman(folder_.path(), "--version").output, HasSubstr("dragoman 0."));
  EXPECT_THAT(run_dragoman(folder_.path(), "--help").output, HasSubstr("learn-bpe"));
  for (const char* command : {"learn-bpe", "learn-unigram", "count-words", "detect", "learn-detector", "encode",
                              "decode", "convert", "verify", "vocab", "train", "translate", "score", "evaluate", "run",
                              "average", "inspect", "plugins", "doctor"}) {
    const Outcome outcome = run_dragoman(folder_.path(), std::string(command) + " --help");
    EXPECT_EQ(outcome.status, 0) << command;
    EXPECT_THAT(outcome.output, HasSubstr("Usage: dragoman " + std::string(command)));
  }
}

TEST_F(BadInputTest, DoctorSaysThatTheCpuWorks) {
  const Outcome outcome = run_dragoman(folder_.path(), "doctor");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("cpu        ok"));
  EXPECT_THAT(outcome.output, ::testing::ContainsRegex("\n {11}oneDNN [0-9]+\\.[0-9]+\\.[0-9]+, which uses [a-z]"));
}

/// Whether or not the plugin is built: what is missing for a GPU, or that nothing is; and one line for who asks for it.
TEST_F(BadInputTest, WhatIsMissingForAGpuIsSaid) {
  const Outcome doctor = run_dragoman(folder_.path(), "doctor");
  if (doctor.output.find(", sm_") != std::string::npos) GTEST_SKIP() << "there is a GPU";
  EXPECT_THAT(doctor.output, ::testing::ContainsRegex("cuda +(missing: |no such device on this machine; )"));
  std::size_t told = 0;
  for (std::size_t at = 0; (at = doctor.output.find("driver;", at)) != std::string::npos; ++at) ++told;
  EXPECT_LE(told, 1U) << doctor.output;
  EXPECT_THAT(doctor.output, ::testing::Not(::testing::ContainsRegex("nccl +(ok|missing)"))) << "nobody looked for it";
  const std::string model = (testing::source_folder() / "examples/multi30k/model").string();
  for (const char* device : {"cuda", "cuda:1"}) {
    const Outcome outcome =
        run_dragoman(folder_.path(), "translate --model " + model + " --device " + device + " </dev/null");
    EXPECT_NE(outcome.status, 0);
    EXPECT_THAT(outcome.output, "");
    EXPECT_THAT(outcome.error, HasSubstr(std::string("the device '") + device + "' is not "));
    EXPECT_EQ(std::ranges::count(outcome.error, '\n'), 1) << outcome.error;
  }
  const Outcome bounded = run_dragoman(folder_.path(), "translate --model " + model + " --memory 1GB </dev/null");
  EXPECT_NE(bounded.status, 0);
  EXPECT_THAT(bounded.error, HasSubstr("a bound is of a GPU's memory"));
  const Outcome timed =
      run_dragoman(folder_.path(), "translate --model " + model + " --kernel-times --device reference </dev/null");
  EXPECT_NE(timed.status, 0);
  EXPECT_THAT(timed.error, HasSubstr("'reference' measures no times of kernels"));
}

TEST_F(BadInputTest, PluginsListShowsWhatIsBuiltIn) {
  const Outcome outcome = run_dragoman(folder_.path(), "plugins list");
  EXPECT_EQ(outcome.status, 0);
  for (const char* line : {"model +transformer +dragoman ", "pipeline stage +normalize +dragoman +Unicode",
                           "pipeline stage +write +dragoman ", "backend +cpu +dragoman +--device cpu",
                           "backend +reference +dragoman +--device reference"})
    EXPECT_THAT(outcome.output, ::testing::ContainsRegex(line));
}

/// `cp` over a model in use cuts its files before it writes them again. Stored weights are read from the file when they
/// are used, which may be before the first line.
TEST_F(BadInputTest, AModelThatIsCutWhileItIsUsedIsNamed) {
  std::filesystem::copy(in_source("examples/multi30k/model"), folder_ / "model");
  BackgroundProgram translate(folder_.path(), {"translate", "--model", "model", "--compute", "stored"});
  ASSERT_TRUE(eventually([&] {
    return file_content("/proc/" + std::to_string(translate.pid()) + "/maps").find("model.safetensors") !=
           std::string::npos;
  }));
  std::filesystem::resize_file(folder_ / "model" / "model.safetensors", 0);
  translate.try_write("Zwei Hunde spielen im Schnee.\n");
  translate.close_input();
  EXPECT_EQ(translate.wait(), 1);
  EXPECT_THAT(translate.error(), HasSubstr("dragoman: model/model.safetensors: was cut short"));
}

/// A shell makes "" of a variable that is not set. Without a name, some outputs would not be written at all.
TEST_F(BadInputTest, EmptyNamesAreRefused) {
  write("a", "a dog\n");
  for (const char* arguments :
       {"prepare a a --output ''", "prepare a a --rejected ''", "vocab truncate a --size 9 --output b --map ''",
        "count-words a --output ''", "evaluate a --reference ''", "evaluate a -r a --baseline ''",
        "translate --model '' a", "translate --model a --glossary '' a", "train ''", "report ''"})
    expect_complaint(arguments, 2, "is empty; is a variable not set?");
}

TEST_F(BadInputTest, ModelsOfSacrebleuAreNotSoughtInTheCurrentFolder) {
  write("a", "a dog\n");
  const char* const home = std::getenv("HOME");
  const std::string kept = home == nullptr ? "" : home;
  ::unsetenv("HOME");
  ::unsetenv("SACREBLEU");
  expect_complaint("evaluate a --reference a --tokenize spm", 1, "names no folder of sacreBLEU");
  if (home != nullptr) ::setenv("HOME", kept.c_str(), 1);
}

}  // namespace
}  // namespace dragoman::testing

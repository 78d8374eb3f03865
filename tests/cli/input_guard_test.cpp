#include "program.h"

#include <gmock/gmock.h>

#include <dragoman/core/file.h>

namespace dragoman::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

/// A copy of the bundled model, a text and what else commands read.
class InputGuardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path model = source_folder() / "examples/multi30k/model";
    std::filesystem::copy(model, folder_ / "m");
    std::filesystem::copy(model / "tokenizer.json", folder_ / "t.json");
    core::write_file(folder_ / "de", "Ein Hund.\nZwei Hunde.\n");
    core::write_file(folder_ / "en", "A dog.\nTwo dogs.\n");
    core::write_file(folder_ / "counts", "2\tdog\n");
    core::write_file(folder_ / "symbols", "<ph>\n");
    std::filesystem::create_symlink("de", folder_ / "link");
  }

  TemporaryFolder folder_;
};

TEST_F(InputGuardTest, NothingThatIsReadIsReplaced) {
  const std::pair<const char*, const char*> cases[] = {
      {"learn-bpe de en --vocab-size 300 -o en", "en"},
      {"learn-bpe de --vocab-size 300 -o link", "de"},
      {"learn-bpe 'd*' --vocab-size 300 -o ./de", "de"},
      {"learn-bpe de --vocab-size 300 --user-symbols-file symbols -o symbols", "symbols"},
      {"learn-bpe --counts counts --vocab-size 300 -o counts", "counts"},
      {"count-words de en -o de", "de"},
      {"count-words --counts counts -o counts", "counts"},
      {"encode -t t.json de -o t.json", "t.json"},
      {"decode -t t.json de -o t.json", "t.json"},
      {"convert t.json -o t.json --to sentencepiece", "t.json"},
      {"vocab truncate t.json --size 3000 -o t.json", "t.json"},
      {"score -m m de en -o en", "en"},
      {"score -m m de en -o de", "de"},
      {"score -m m de en -o m/config.json", "m/config.json"},
      {"translate -m m de -o m/config.json", "m/config.json"},
      {"translate -m m de -o link --overwrite", "de"},
      {"average m m -o m", "m/model.safetensors"},
      {"average m/model.safetensors m/model.safetensors -o m/model.safetensors", "m/model.safetensors"},
      {"encode -t t.json de >> de", "de"},
      {"translate -m m de >> de", "de"},
  };
  for (const auto& [arguments, file] : cases) {
    const std::string before = core::read_file(folder_ / file);
    const Outcome outcome = run_dragoman(folder_.path(), arguments);
    EXPECT_EQ(outcome.status, 2) << arguments << '\n' << outcome.error;
    EXPECT_THAT(outcome.error, AnyOf(HasSubstr("is the input"), HasSubstr("which is read"))) << arguments;
    EXPECT_TRUE(core::read_file(folder_ / file) == before) << arguments;
  }
}

TEST_F(InputGuardTest, APipelineReplacesNothingThatItReads) {
  core::write_file(folder_ / "p.yml",
                   "stages:\n- read: {path: de}\n- translate: {model: m}\n- encode: {tokenizer: t.json}\n"
                   "- write: {path: out}\n");
  for (const std::string file : {"de", "link", "m/config.json", "m/model.safetensors", "t.json", "p.yml"}) {
    const std::string before = core::read_file(folder_ / file);
    const Outcome outcome = run_dragoman(folder_.path(), "run p.yml --set stages.3.write.path=" + file);
    EXPECT_EQ(outcome.status, 1) << file << '\n' << outcome.error;
    EXPECT_THAT(outcome.error, AnyOf(HasSubstr("is the input"), HasSubstr("which is read"))) << file;
    EXPECT_TRUE(core::read_file(folder_ / file) == before) << file;
  }
}

TEST_F(InputGuardTest, APipelineReadsFirstAndWritesLast) {
  const std::string read = "- read: {path: de}\n", write = "- write: {path: out}\n", work = "- normalize: {}\n";
  for (const auto& stages : {read + write + work, work + read + write, write + read, read + write + write}) {
    core::write_file(folder_ / "p.yml", "stages:\n" + stages);
    const Outcome outcome = run_dragoman(folder_.path(), "run p.yml");
    EXPECT_EQ(outcome.status, 1) << stages;
    EXPECT_THAT(outcome.error, AnyOf(HasSubstr("must be the first stage"), HasSubstr("must be the last stage")));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out")) << stages;
  }
}

TEST_F(InputGuardTest, WhatAFormatHasNoUseForIsRefused) {
  for (const std::string command : {"translate -m m de --input-column 2", "translate -m m de --input-key text",
                                    "translate -m m de --resume", "translate -m m de --overwrite"}) {
    const Outcome outcome = run_dragoman(folder_.path(), command);
    EXPECT_EQ(outcome.status, 1) << command;
    EXPECT_THAT(outcome.error, AnyOf(HasSubstr("is for the format"), HasSubstr("standard output"))) << command;
    EXPECT_EQ(outcome.output, "") << command;
  }
  core::write_file(folder_ / "p.yml",
                   "stages:\n- read: {path: de}\n- translate: {model: m, n-best: 3}\n- write: {path: out}\n");
  EXPECT_THAT(run_dragoman(folder_.path(), "run p.yml").error, HasSubstr("n_best and alignment of translate need"));
  EXPECT_EQ(run_dragoman(folder_.path(), "run p.yml --set stages.2.write.format=jsonl").status, 0);
}

TEST_F(InputGuardTest, OptionsThatTheSearchNeverLooksAtAreRefused) {
  for (const std::string arguments :
       {"--decoder greedy --beam-size 8", "--decoder greedy --patience 2", "--decoder sampling --beam-size 2",
        "--temperature 0.5", "--top-k 5", "--top-p 0.5", "--decoder greedy --seed 7"}) {
    const Outcome outcome = run_dragoman(folder_.path(), "translate -m m de " + arguments);
    EXPECT_EQ(outcome.status, 1) << arguments;
    EXPECT_THAT(outcome.error, HasSubstr("only ")) << arguments;
  }
  EXPECT_EQ(run_dragoman(folder_.path(), "translate -m m de --decoder greedy --beam-size 4").status, 0)
      << "what is usual changes nothing";
}

TEST_F(InputGuardTest, Utf16IsNotText) {
  for (const std::string mark : {"\xFF\xFE", "\xFE\xFF"}) {
    core::write_file(folder_ / "wide", mark + std::string("D\0e\0", 4));
    for (const std::string command : {"encode -t t.json wide", "learn-bpe wide --vocab-size 300 -o x.json"}) {
      const Outcome outcome = run_dragoman(folder_.path(), command);
      EXPECT_EQ(outcome.status, 1) << command;
      EXPECT_THAT(outcome.error, HasSubstr("iconv")) << command;
    }
  }
}

TEST_F(InputGuardTest, OptionsThatSayNothingAboutATokenizerAreRefused) {
  for (const char* option : {"--vocabulary nowhere", "--vocabulary-threshold 5", "--separator ++", "--pattern gpt2"}) {
    const Outcome outcome = run_dragoman(folder_.path(), std::string("encode -t t.json de ") + option);
    EXPECT_EQ(outcome.status, 1) << option;
    EXPECT_THAT(outcome.error, AnyOf(HasSubstr("leave it out"), HasSubstr("goes with a vocabulary"))) << option;
    EXPECT_EQ(outcome.output, "") << option;
  }
}

TEST_F(InputGuardTest, PackingsThatAreNotReadAreNotText) {
  core::write_file(folder_ / "xz", std::string("\xFD"
                                               "7zXZ\0\0\x04\xE6\xD6",
                                               10));
  core::write_file(folder_ / "zip", std::string("PK\x03\x04\x14\0\0\0", 8));
  core::write_file(folder_ / "7z", std::string("7z\xBC\xAF\x27\x1C\0\x04", 8));
  for (const std::string name : {"xz", "zip", "7z"}) {
    const Outcome encode = run_dragoman(folder_.path(), "encode -t t.json " + name);
    EXPECT_EQ(encode.status, 1) << name;
    EXPECT_THAT(encode.error, HasSubstr(name + ": is a")) << name;
    EXPECT_THAT(run_dragoman(folder_.path(), "learn-bpe --vocab-size 300 -o x.json " + name).error,
                HasSubstr("unpack"));
  }
}

TEST_F(InputGuardTest, ScoreSaysWhatHeldInvalidUtf8) {
  core::write_file(folder_ / "bad", "Ein\xFF Hund.\nZwei Hunde.\n");
  const Outcome outcome = run_dragoman(folder_.path(), "score -m m bad en");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, HasSubstr("1 line held invalid UTF-8"));
}

TEST_F(InputGuardTest, OtherOutputsAreWritten) {
  for (const char* arguments : {"encode -t t.json de -o m/../out", "encode -t t.json de > out", "count-words de -o out",
                                "convert t.json -o out.model", "encode -t t.json de -o /dev/null"})
    EXPECT_EQ(run_dragoman(folder_.path(), arguments).status, 0) << arguments;
}

}  // namespace
}  // namespace dragoman::testing

#include "program.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>

#include <dragoman/core/name_hints.h>

namespace dragoman::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class NameHintsTest : public ::testing::Test {
 protected:
  Outcome run(const std::string& arguments) const { return run_dragoman(folder_.path(), arguments); }

  std::string usage_error(const std::string& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments << "\n" << outcome.error;
    EXPECT_EQ(outcome.output, "") << arguments;
    return outcome.error;
  }

  std::string training_error(const std::string& yaml, const std::string& options = "") const {
    std::ofstream(folder_ / "train.yml") << "output: run\ndata: {train: {source: a, target: b}, tokenizer: t.json}\n" +
                                                yaml;
    const Outcome outcome = run("train train.yml " + options);
    EXPECT_EQ(outcome.status, 1) << outcome.error;
    return outcome.error;
  }

  std::vector<std::string> commands() const {
    std::vector<std::string> names;
    std::istringstream lines(run("--help").output);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string name;
      if (line.starts_with("  ") && words >> name) names.push_back(name);
    }
    return names;
  }

  TemporaryFolder folder_;
};

/// A guess is worth nothing if what it names is not there: the page of all commands, options and keys decides.
TEST_F(NameHintsTest, EveryNameThatTheTableProposesExists) {
  const std::string page = run("reference").output;
  const auto exists = [&page](const std::string& name) {
    std::string flag = "--" + name;
    std::ranges::replace(flag, '_', '-');
    if (page.find(flag + " ") != page.npos || page.find(flag + "`") != page.npos) return true;
    const std::string key = name.starts_with("model.") ? name.substr(name.find('.') + 1) : name;
    return page.find("\n## " + name + "\n") != page.npos || page.find("| `" + name + "` |") != page.npos ||
           page.find("| `" + key + "` |") != page.npos || page.find("| `" + name + ".") != page.npos;
  };
  EXPECT_FALSE(exists("no_such_option"));
  EXPECT_FALSE(exists("no.such.key"));
  EXPECT_GE(core::foreign_names().size(), 60U);
  for (const core::ForeignName& name : core::foreign_names()) {
    std::istringstream ours{std::string(name.ours)};
    for (std::string one; ours >> one;) EXPECT_TRUE(exists(one)) << name.theirs << " -> " << one;
  }
}

TEST_F(NameHintsTest, OptionsOfOtherToolkits) {
  for (const auto& [arguments, hint] : std::vector<std::pair<std::string, std::string>>{
           {"translate --beam 4", "did you mean '--beam-size'?"},
           {"translate --num_beams=4", "did you mean '--beam-size'?"},
           {"translate --nbest 4", "did you mean '--n-best'?"},
           {"translate --max-len-b 50", "did you mean '--maximum-length-offset'?"},
           {"translate --mini-batch 64", "did you mean '--batch-tokens', which counts tokens?"},
           {"translate --devices 0", "did you mean '--device'?"},
           {"translate --cpu-threads 2", "did you mean '--threads'?"},
           {"translate --Beam_Size 2", "did you mean '--beam-size'?"},
           {"learn-unigram --model_prefix m", "did you mean '--output'?"},
           {"learn-unigram --character_coverage 0.99", "did you mean '--character-coverage'?"},
           {"learn-bpe --model_type unigram", "did you mean 'dragoman learn-unigram'?"},
           {"evaluate --refs r", "did you mean '--reference'?"},
           {"train --epochs 3", "did you mean '--set training.epochs=VALUE'?"},
           {"train --lr 0.1", "did you mean '--set training.schedule.learning_rate=VALUE'?"},
           {"train --fp16", "did you mean '--set training.compute=VALUE' with the value fp16?"},
           {"encode --vocab-size 100", "it is an option of `dragoman learn-bpe`, `dragoman learn-unigram`"},
       }) {
    const std::string error = usage_error(arguments);
    EXPECT_THAT(error, HasSubstr(hint)) << arguments;
    EXPECT_THAT(error, EndsWith("; see `dragoman " + arguments.substr(0, arguments.find(' ')) + " --help`\n"));
  }
}

TEST_F(NameHintsTest, CommandsOfOtherToolkits) {
  for (const auto& [word, hint] : std::vector<std::pair<std::string, std::string>>{
           {"fit", "did you mean 'train'?"},
           {"fairseq-train", "did you mean 'train'?"},
           {"predict", "did you mean 'translate'?"},
           {"infer", "did you mean 'translate'?"},
           {"generate", "did you mean 'translate'?"},
           {"spm_train", "did you mean 'learn-unigram' or 'learn-bpe'?"},
           {"score-bleu", "did you mean 'evaluate'?"},
           {"learn_bpe", "did you mean 'learn-bpe'?"},
           {"tranlate", "did you mean 'translate'?"},
           {"trans", "did you mean 'translate'?"},
       })
    EXPECT_THAT(usage_error(word + " x"), HasSubstr(hint)) << word;
  EXPECT_THAT(usage_error("help fit"), HasSubstr("did you mean 'train'?"));
}

TEST_F(NameHintsTest, KeysInYamlAndBySetAlike) {
  EXPECT_THAT(training_error("training: {updates: 1, learning_rate: 0.1}\n"),
              HasSubstr("train.yml: training: unknown key 'learning_rate'; did you mean "
                        "'training.schedule.learning_rate'?"));
  EXPECT_THAT(training_error("", "--set training.learning_rate=0.1"),
              HasSubstr("did you mean 'training.schedule.learning_rate'?"));
  EXPECT_THAT(training_error("valid: {}\n"), HasSubstr("did you mean 'validation'?"));
  EXPECT_THAT(training_error("num_heads: 4\n"), HasSubstr("did you mean 'model.heads'?"));
}

/// What a pipeline and a JSON line call the options of a search.
TEST_F(NameHintsTest, KeysOfStagesAndLines) {
  std::ofstream(folder_ / "pipeline.yml")
      << "stages:\n  - read: {path: in}\n  - split: {local: de}\n  - write: {path: out}\n";
  EXPECT_THAT(run("run pipeline.yml").error, HasSubstr("did you mean 'locale'?"));
  std::ofstream(folder_ / "pipeline.yml") << "stages:\n  - read: {path: in}\n  - generate: {}\n";
  EXPECT_THAT(run("run pipeline.yml").error, HasSubstr("did you mean 'translate'?"));
  std::ofstream(folder_ / "in.jsonl") << R"({"source": "Hallo", "decoding": {"num_beams": 3}})" << '\n';
  const std::string model = in_source("examples/multi30k/model");
  const Outcome outcome = run("translate --model " + model + " --input in.jsonl --input-format jsonl --format jsonl");
  EXPECT_THAT(outcome.output + outcome.error, HasSubstr("did you mean 'beam_size'?"));
}

/// Arguments that are known by their places are not called options.
TEST_F(NameHintsTest, ArgumentsWithoutNames) {
  EXPECT_THAT(run("train").error, HasSubstr("the argument 'config' is required but missing"));
  EXPECT_THAT(run("plugins").error, HasSubstr("the argument 'action' is required but missing"));
  EXPECT_THAT(run("convert a b").error, AllOf(HasSubstr("more arguments than"), HasSubstr("such as --output")));
  EXPECT_THAT(run("encode --model tokenizer.json").error, HasSubstr("did you mean '--tokenizer'?"));
}

/// Whatever a command cannot run without is in its usage, before or in place of brackets, and marked in its list.
TEST_F(NameHintsTest, WhatIsRequiredIsMarkedAndItsLackLeadsToTheHelp) {
  int missing = 0;
  for (const std::string& command : commands()) {
    const Outcome outcome = run(command + " </dev/null");
    std::string begin = "dragoman: the option '--";
    if (!outcome.error.starts_with(begin)) begin = "dragoman: the argument '";
    if (!outcome.error.starts_with(begin)) continue;
    ++missing;
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.error, EndsWith("is required but missing; see `dragoman " + command + " --help`\n"));
    const std::string option =
        outcome.error.substr(begin.size(), outcome.error.find('\'', begin.size()) - begin.size());
    const std::string help = run(command + " --help").output;
    const std::string usage = help.substr(0, help.find('\n'));
    EXPECT_THAT(usage, ::testing::AnyOf(HasSubstr(" --" + option + " "), EndsWith(" " + option),
                                        HasSubstr("] " + option + " ")))
        << command;
    EXPECT_THAT(help, ContainsRegex("--" + option + "[^\n]*\n? *[^\n]*required: ")) << command;
  }
  EXPECT_GE(missing, 15);
  EXPECT_THAT(run("translate --help").output, HasSubstr("Usage: dragoman translate --model DIR [OPTIONS] [input]\n"));
  EXPECT_THAT(usage_error("learn-bpe --output t.json </dev/null"),
              EndsWith("learn-bpe needs either --input or --counts, or text that is piped to it; see `dragoman "
                       "learn-bpe --help`\n"));
}

}  // namespace
}  // namespace dragoman::testing

#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// The promise of docs/concepts/security.md: looking at a file runs nothing of it. With the program itself, as users
// have it.
namespace dragoman::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

class LookingRunsNothing : public ::testing::Test {
 protected:
  LookingRunsNothing() { ::setenv("DRAGOMAN_PLANTED_TRACE", (folder_ / "trace").c_str(), 1); }
  ~LookingRunsNothing() override { ::unsetenv("DRAGOMAN_PLANTED_TRACE"); }

  std::string place(const std::string& planted, const std::string& name) {
    fs::copy_file(fs::path(built("planted_plugins")) / (planted + ".so"), folder_ / name);
    return name;
  }
  Outcome run(const std::string& arguments) { return run_dragoman(folder_.path(), arguments); }
  bool code_ran() const { return fs::exists(folder_ / "trace"); }

  TemporaryFolder folder_;
};

TEST_F(LookingRunsNothing, InspectShowsAPluginWithoutLoadingIt) {
  const Outcome outcome = run("inspect " + place("tracing", "tracing.so"));
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("tracing.so: plugin\n"), HasSubstr("tracing\n"), HasSubstr("MIT"),
                                    HasSubstr("fits this program       yes\n"), HasSubstr("plugins check")));
  EXPECT_THAT(outcome.output, Not(HasSubstr("\x1b"))) << "the licence talks to the terminal";
  EXPECT_FALSE(code_ran());
}

TEST_F(LookingRunsNothing, InspectTellsOfAnotherSdk) {
  const Outcome outcome = run("inspect " + place("foreign_sdk", "foreign.so"));
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("foreign"), HasSubstr("compiler 'gcc 3' where this program has")));
  EXPECT_FALSE(code_ran());
}

// Row 1 of issue 8: `gcc -shared -o model.safetensors evil.c`, and the same under any other name.
TEST_F(LookingRunsNothing, InspectRunsNoSharedLibraryWhateverItsName) {
  for (const std::string name : {"model.safetensors", "tokenizer.json", "config.json", "library.so", "text"}) {
    const bool is_weights = name.ends_with(".safetensors");
    const Outcome outcome = run("inspect " + place("no_note", name));
    EXPECT_EQ(outcome.status, is_weights ? 1 : 0) << name;
    EXPECT_FALSE(code_ran()) << name;
    if (is_weights)
      EXPECT_THAT(outcome.error, HasSubstr("is an ELF shared library or program, not weights"));
    else
      EXPECT_THAT(outcome.output, AllOf(HasSubstr(name + ": shared library\n"), HasSubstr("none of Dragoman's")));
  }
}

TEST_F(LookingRunsNothing, NeitherDoesAModelFolderOfSharedLibraries) {
  for (const char* name : {"config.json", "tokenizer.json", "model.safetensors", "SHA256SUMS"}) place("no_note", name);
  for (const char* command : {"inspect .", "inspect --verify .", "translate --model . < /dev/null"})
    EXPECT_EQ(run(command).status, 1) << command;
  EXPECT_FALSE(code_ran());
}

TEST_F(LookingRunsNothing, ListingPluginsLoadsOnlyThoseThatAreNamed) {
  place("tracing", "tracing.so");
  EXPECT_EQ(run("plugins list").status, 0);
  EXPECT_FALSE(code_ran());
  EXPECT_EQ(run("plugins list --plugin ./tracing.so").status, 0);
  EXPECT_TRUE(code_ran());
}

/// The text with `name` in place of its first "{}".
std::string with(std::string_view text, const std::string& name) {
  constexpr std::string_view kPlace = "{}";
  return std::string(text).replace(text.find(kPlace), kPlace.size(), name);
}

/// A configuration names devices, models and tokenizers by words, and no key is the file of a plugin.
TEST_F(LookingRunsNothing, NeitherDoesAConfigurationThatNamesTheFileOfAPlugin) {
  place("tracing", "tracing.so");
  std::ofstream(folder_ / "text") << "eins\n";
  for (const std::string& name :
       std::vector<std::string>{"./tracing.so", (folder_ / "tracing.so").string(), "tracing.so"}) {
    for (const std::string_view key :
         {"device: {}\nmodel: {type: transformer}\ndata: {train: {source: text, target: text}, tokenizer: t.json}\n",
          "model: {type: {}}\ndata: {train: {source: text, target: text}, tokenizer: t.json}\n",
          "plugin: {}\nmodel: {type: transformer}\ndata: {train: {source: text, target: text}, tokenizer: t.json}\n",
          "plugins: [{}]\nmodel: {type: transformer}\ndata: {train: {source: text, target: text}, tokenizer: t.json}\n",
          "model: {type: transformer}\ndata: {train: {source: text, target: text}, tokenizer: {}}\n",
          "model: {type: transformer}\ndata: {train: {source: text, target: text}, tokenizer: {type: {}}}\n"}) {
      const std::string training = with(key, name);
      std::ofstream(folder_ / "train.yml") << "output: run\ntraining: {updates: 1}\n" << training;
      EXPECT_NE(run("train --config train.yml --allow-commands").status, 0) << training;
      EXPECT_FALSE(code_ran()) << training;
    }
    for (const std::string_view stage :
         {"  - {}: {}\n", "  - translate: {model: {}}\n", "  - translate: {model: none, device: {}}\n",
          "  - encode: {tokenizer: {}}\n", "  - encode: {tokenizer: text, type: {}}\n", "  - plugin: {path: {}}\n",
          "plugin: {}\n"}) {
      const std::string stages = with(stage, name);
      std::ofstream(folder_ / "pipeline.yml") << "stages:\n  - read: {path: text}\n  - write: {path: out}\n" << stages;
      EXPECT_NE(run("run pipeline.yml").status, 0) << stages;
      EXPECT_FALSE(code_ran()) << stages;
    }
  }
}

TEST_F(LookingRunsNothing, CheckingAPluginDoesRunIt) {
  const Outcome outcome = run("plugins check " + place("tracing", "tracing.so"));
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_TRUE(code_ran());
}

}  // namespace
}  // namespace dragoman::testing

#include "program.h"

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

#include <dragoman/core/file.h>

namespace dragoman::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

/// An option as the reference of commands has it.
struct ListedOption {
  std::string name;
  std::string kind;
  bool required = false;
};

/// The options of each command, from `dragoman reference`.
std::map<std::string, std::vector<ListedOption>> listed_options(const TemporaryFolder& folder) {
  std::map<std::string, std::vector<ListedOption>> commands;
  std::istringstream lines(run_dragoman(folder.path(), "reference").output);
  const std::regex heading("## ([a-z-]+)");
  const std::regex row(R"(\| `(?:-., )?--([a-z0-9-]+)([^`]*)` \|[^|]*\| ?(required)?.*)");
  std::string command;
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (line.starts_with("## ")) command = std::regex_match(line, found, heading) ? found[1].str() : "";
    if (!command.empty() && std::regex_match(line, found, row))
      commands[command].push_back({found[1], found[2].str().empty() ? "" : found[2].str().substr(1), found[3].matched});
  }
  return commands;
}

bool names_a_file(const std::string& kind) {
  static const std::regex files("(FILE|DIR|FOLDER|PATH|MODEL).*|(CODE|PAIR)=(FILE|DIR).*");
  return std::regex_match(kind, files);
}

/// A new kind of value has to be said to be a file or none, because the program guards files by their kind.
bool names_no_file(const std::string& kind) {
  static const std::regex others(
      R"((N|X|G|P|ADDRESS|ALPHA|CODE|CONTEXT|FORM|FORMAT|HOW|KEY|KIND|LANGUAGE|LIST|LOCALE|MARK|METRIC|MODE|NAME|)"
      R"(ORIGIN|PATTERN|PLUGIN|POLICY|PRESET|RATE|REGEX|ROLE|SECONDS|SHARE|SIZE|STEP|SYMBOL|TEXT|TOKEN|TYPE|UNIT|)"
      R"(UNITS|URL|WHAT|WHICH)(,?\.\.\.)?|ACTION|I/N|KEY=VALUE|NAME\[\.KEY=VALUE\]|\[=N\]|\[ID, \.\.\.\])");
  return std::regex_match(kind, others);
}

const std::set<std::string> kOutputs = {"output",      "map",           "rejected",     "validation-output",
                                        "test-output", "attention-svg", "attention-npy"};

/// Options of a command in which one that is read and one that is written name the given files.
std::string arguments_with(const std::string& command, const std::vector<ListedOption>& options,
                           const std::map<std::string, std::string>& given) {
  std::string arguments = command;
  for (const ListedOption& option : options) {
    const auto found = given.find(option.name);
    if (found == given.end() && !option.required) continue;
    std::string value = found == given.end() ? "other-" + option.name : found->second;
    if (option.kind.starts_with("CODE=")) value = "de=" + value;
    if (option.kind.starts_with("N")) value = "300";
    if (option.name == "action") value = "prune";
    arguments += " --" + option.name + " " + value;
  }
  return arguments;
}

/// Each option that names a file is checked with each output of its command, whatever the command makes of them.
TEST(NamedFiles, NoOutputReplacesWhatAnotherOptionReads) {
  const TemporaryFolder folder;
  int tried = 0;
  for (const auto& [command, options] : listed_options(folder)) {
    // These may write into what they read, and guard the rest of it themselves.
    if (command == "report" || command == "tune") continue;
    for (const ListedOption& output : options) {
      if (!kOutputs.contains(output.name)) continue;
      for (const ListedOption& input : options) {
        if (!names_a_file(input.kind) || kOutputs.contains(input.name) || input.name == "into") continue;
        for (const auto& [read, written] :
             std::map<std::string, std::string>{{"a", "a"}, {"link", "a"}, {"b.partial", "b"}}) {
          for (const char* name : {"a", "b.partial"}) core::write_file(folder / name, "the content");
          if (!std::filesystem::exists(folder / "link")) std::filesystem::create_symlink("a", folder / "link");
          const std::string arguments =
              arguments_with(command, options, {{input.name, read}, {output.name, written}}) + " </dev/null";
          const Outcome outcome = run_dragoman(folder.path(), arguments);
          EXPECT_EQ(outcome.status, 2) << arguments << '\n' << outcome.error;
          EXPECT_THAT(outcome.error, AnyOf(HasSubstr("is the input"), HasSubstr("has the name of the input")))
              << arguments;
          for (const char* name : {"a", "b.partial"})
            EXPECT_EQ(file_content(folder / name), "the content") << arguments;
          ++tried;
        }
      }
    }
  }
  EXPECT_GT(tried, 250);
}

TEST(NamedFiles, EachKindOfValueIsAFileOrNone) {
  const TemporaryFolder folder;
  for (const auto& [command, options] : listed_options(folder))
    for (const ListedOption& option : options)
      EXPECT_NE(names_a_file(option.kind), option.kind.empty() || names_no_file(option.kind))
          << command << " --" << option.name << " " << option.kind;
}

TEST(NamedFiles, StandardInputIsAnInputLikeOthers) {
  const TemporaryFolder folder;
  std::filesystem::copy(source_folder() / "examples/multi30k/model/tokenizer.json", folder / "t.json");
  for (const char* arguments :
       {"encode -t t.json -o de < de", "encode -t t.json < de >> de", "learn-bpe --vocab-size 300 - -o de < de",
        "learn-bpe --vocab-size 300 -o de < de", "count-words -o de < de", "detect -o de < de"}) {
    core::write_file(folder / "de", "Ein Hund.\n");
    const Outcome outcome = run_dragoman(folder.path(), arguments);
    EXPECT_EQ(outcome.status, 2) << arguments << '\n' << outcome.error;
    EXPECT_THAT(outcome.error, HasSubstr("is the input on standard input")) << arguments;
    EXPECT_EQ(file_content(folder / "de"), "Ein Hund.\n") << arguments;
  }
}

}  // namespace
}  // namespace dragoman::testing

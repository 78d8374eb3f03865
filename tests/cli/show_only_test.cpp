// docs/concepts/security.md: commands that only show something write nothing.
#include "program.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

namespace fs = std::filesystem;

/// What a write would change: the kind, the permissions, the size, the times of the last changes, and the content.
using Listing = std::map<std::string, std::string>;

Listing list(const fs::path& folder) {
  Listing listing;
  const auto add = [&](const fs::path& path) {
    struct stat status {};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
    listing[path.string()] =
        fmt::format("{:o} {} {} {}.{:09} {}.{:09} ", status.st_mode, status.st_size, status.st_nlink,
                    status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec) +
        (S_ISREG(status.st_mode) ? file_content(path) : "");
  };
  add(folder);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) add(entry.path());
  return listing;
}

std::string difference(const Listing& before, const Listing& after) {
  std::string names;
  for (const auto& [name, state] : after)
    if (!before.contains(name) || before.at(name) != state) names += " " + name;
  for (const auto& [name, state] : before)
    if (!after.contains(name)) names += " " + name;
  return names;
}

/// A folder of everything that these commands show, with the folders for temporary files and caches, and the current
/// folder.
class ShowOnlyTest : public ::testing::Test {
 protected:
  ShowOnlyTest() {
    const auto copy = [&](const fs::path& from, const char* to) {
      fs::copy(from, world_ / to, fs::copy_options::recursive);
    };
    copy(source_folder() / "examples/multi30k/model", "model");
    const fs::path golden = source_folder() / "tests/training/golden/run_v1";
    copy(golden / "run", "run");
    for (const char* name : {"tokenizer.json", "train.source", "train.target"}) copy(golden / name, name);
    copy(source_folder() / "tests/formats/golden/huggingface/marian", "foreign");
    copy(built("ssru"), "ssru.so");
    for (const char* name : {"home", "tmp", "here"}) fs::create_directory(world_ / name);
    std::ofstream(world_ / "here/train.yml") << file_content(golden / "train.yml");
  }

  /// Runs the program in the folder `here`, with its own streams elsewhere.
  int run(const std::string& arguments) {
    const std::string world = world_.path().string();
    const std::string command = fmt::format(
        "cd '{0}/here' && HOME='{0}/home' TMPDIR='{0}/tmp' XDG_CACHE_HOME= '{1}' {2} >'{3}/out' 2>'{3}/error' "
        "</dev/null",
        world, built("program"), arguments, streams_.path().string());
    const int result = std::system(command.c_str());
    return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
  }

  /// What a command changed.
  std::string changes(const std::string& arguments) {
    const Listing before = list(world_.path());
    status_ = run(arguments);
    return difference(before, list(world_.path()));
  }

  TemporaryFolder world_;
  TemporaryFolder streams_;
  int status_ = 0;
};

TEST_F(ShowOnlyTest, WritesNothing) {
  for (const char* arguments : {"--help",
                                "--version",
                                "help",
                                "help translate",
                                "train --help",
                                "inspect --help",
                                "plugins --help",
                                "reference",
                                "reference --format bash",
                                "doctor",
                                "plugins list",
                                "inspect ../model",
                                "inspect ../model --verify",
                                "inspect ../model --tensors",
                                "inspect ../model --json",
                                "inspect ../model/model.safetensors",
                                "inspect ../run",
                                "inspect ../run --json",
                                "inspect ../run/last --verify",
                                "inspect ../tokenizer.json",
                                "inspect ../tokenizer.json --corpus ../train.source --json",
                                "inspect ../foreign",
                                "inspect ../ssru.so",
                                "verify ../tokenizer.json ../tokenizer.json ../train.source"}) {
    EXPECT_EQ(changes(arguments), "") << arguments;
    EXPECT_EQ(status_, 0) << arguments << ": " << file_content(streams_ / "error");
  }
  // An error is no reason to write either.
  for (const char* arguments : {"inspect ../missing", "inspect ../train.source/x", "inspect .", "inspect --nonsense",
                                "verify ../tokenizer.json ../missing ../train.source"}) {
    EXPECT_EQ(changes(arguments), "") << arguments;
    EXPECT_NE(status_, 0) << arguments;
  }
}

/// The comparison itself: a command that writes, and a file that comes and goes.
TEST_F(ShowOnlyTest, WhatIsWrittenIsSeen) {
  EXPECT_EQ(changes("encode --quiet --tokenizer ../tokenizer.json --input ../train.source --output pieces"),
            " " + (world_ / "here").string() + " " + (world_ / "here/pieces").string());
  EXPECT_EQ(status_, 0) << file_content(streams_ / "error");
  const Listing before = list(world_.path());
  std::ofstream(world_ / "tmp/file") << "x";
  fs::remove(world_ / "tmp/file");
  EXPECT_EQ(difference(before, list(world_.path())), " " + (world_ / "tmp").string());
}

}  // namespace
}  // namespace dragoman::testing

#include "file_testing.h"
#include "test_data.h"

#include <sys/wait.h>

#include <csignal>
#include <exception>
#include <thread>

#include <unistd.h>

#include <dragoman/core/error.h>
#include <dragoman/core/publish_together.h>

namespace dragoman::core {
namespace {

using dragoman::testing::TemporaryFolder;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::names_in;
using testing::put;
using testing::raw;

namespace fs = std::filesystem;

/// Two files that belong together, of which there is an earlier version. What publishing them leaves is what a process
/// leaves that is killed there.
class PublishTogether : public ::testing::Test {
 protected:
  PublishTogether() {
    for (const char* name : {"a", "b"}) put(folder_ / name, std::string("old ") + name);
  }
  /// Writes both. The rename of the file `lost` fails, if there is one.
  void publish(const char* lost = nullptr) const {
    OutputFile a(folder_ / "a", {.partial = PartialPolicy::kTemporary});
    OutputFile b(folder_ / "b", {.partial = PartialPolicy::kTemporary});
    OutputFile* const files[] = {&a, &b};
    for (OutputFile* file : files) {
      file->write("new " + file->name().substr(file->name().size() - 1));
      file->complete();
    }
    if (lost != nullptr) fs::remove(folder_ / (std::string(lost) + ".partial"));
    publish_together(files);
  }
  /// The same in a process that is killed when the rename of `lost` fails. In a thread of its own, whose function
  /// catches nothing, the failure ends the process before any destructor runs.
  void publish_and_be_killed(const char* lost) const {
    const pid_t child = ::fork();
    if (child == 0) {
      std::set_terminate([] { ::kill(::getpid(), SIGKILL); });
      std::thread([&] { publish(lost); }).join();
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  std::string contents() const { return read_file(folder_ / "a") + ", " + read_file(folder_ / "b"); }

  TemporaryFolder folder_;
};

TEST_F(PublishTogether, SmallFilesKeepTheirContentUntilAllAreComplete) {
  const FileContent good[] = {{folder_ / "a", "new a"}, {folder_ / "b", "new b"}};
  write_together(good);
  EXPECT_EQ(contents(), "new a, new b");
  const FileContent bad[] = {{folder_ / "a", "newer a"}, {folder_ / "missing" / "b", "newer b"}};
  expect_error(ErrorCode::kIo, folder_ / "missing", [&] { write_together(bad); });
  EXPECT_EQ(contents(), "new a, new b");
  EXPECT_THAT(names_in(folder_.path()), ::testing::UnorderedElementsAre("a", "b"));
}

TEST_F(PublishTogether, ReplacesAllAndLeavesNoMark) {
  publish();
  EXPECT_EQ(contents(), "new a, new b");
  EXPECT_EQ(names_in(folder_.path()), (std::vector<std::string>{"a", "b"}));
}

TEST_F(PublishTogether, ThePairStaysAsItWasIfTheFirstCannotBeReplaced) {
  EXPECT_THROW(publish("a"), Error);
  EXPECT_EQ(contents(), "old a, old b");
  EXPECT_EQ(names_in(folder_.path()), (std::vector<std::string>{"a", "b"}));
}

TEST_F(PublishTogether, AnOldFileBesideANewOneIsNotRead) {
  EXPECT_THROW(publish("b"), Error);
  EXPECT_EQ(read_file(folder_ / "a"), "new a");
  fs::create_symlink("b", folder_ / "link");
  for (const char* name : {"b", "link"})
    EXPECT_THAT(expect_error(ErrorCode::kIo, folder_ / name, [&] { read_file(folder_ / name); }),
                HasSubstr("is older than the files that belong to it"));
  EXPECT_EQ(raw(folder_ / "b"), "old b") << "nor lost";
  publish();
  EXPECT_EQ(contents(), "new a, new b");
}

/// As a killed process leaves it, the new file is complete: what comes next, even if it fails, does not lose it.
TEST_F(PublishTogether, WhatWasCompleteGetsItsNameWhenTheFileIsWrittenAgain) {
  const pid_t child = ::fork();
  if (child == 0) {
    OutputFile b(folder_ / "b", {.partial = PartialPolicy::kTemporary});
    b.write("new b");
    b.complete();
    put(folder_ / "b.superseded", "b is older than the files that belong to it\n");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  expect_error(ErrorCode::kIo, folder_ / "b", [&] { read_file(folder_ / "b"); });
  { OutputFile fails(folder_ / "b"); }
  EXPECT_EQ(read_file(folder_ / "b"), "new b");
  EXPECT_EQ(names_in(folder_.path()), (std::vector<std::string>{"a", "b"}));
}

// --- marks that have no effect ---

TEST_F(PublishTogether, TheOldSetIsReadIfNoFileOfItWasReplaced) {
  publish_and_be_killed("a");
  EXPECT_EQ(names_in(folder_.path()), (std::vector<std::string>{"a", "b", "b.partial", "b.superseded"}));
  EXPECT_EQ(contents(), "old a, old b");
  { OutputFile fails(folder_ / "b", {.partial = PartialPolicy::kTemporary}); }
  EXPECT_EQ(raw(folder_ / "b"), "old b") << "what was not published with its set does not get its name alone";
  EXPECT_FALSE(fs::exists(folder_ / "b.superseded"));
  publish();
  EXPECT_EQ(contents(), "new a, new b");
}

TEST_F(PublishTogether, AMarkHoldsFromTheReplacementOfTheFirstFileOn) {
  publish_and_be_killed("a");
  put(folder_ / "newer", "new a");
  fs::rename(folder_ / "newer", folder_ / "a");
  EXPECT_THAT(expect_error(ErrorCode::kIo, folder_ / "b", [&] { read_file(folder_ / "b"); }),
              HasSubstr("is older than the files that belong to it"));
  // The process ended after its own file was replaced, before it removed the mark.
  fs::rename(folder_ / "b.partial", folder_ / "b");
  EXPECT_EQ(contents(), "new a, new b");
  put(folder_ / "b", "new b with a line of mine");
  EXPECT_EQ(read_file(folder_ / "b"), "new b with a line of mine");
  { OutputFile fails(folder_ / "b"); }
  EXPECT_EQ(names_in(folder_.path()), (std::vector<std::string>{"a", "b"}));
}

TEST_F(PublishTogether, AMarkHoldsInACopyOfTheFolder) {
  publish_and_be_killed("b");
  fs::create_directory(folder_ / "copy");
  for (const char* name : {"a", "b", "b.superseded"}) fs::copy_file(folder_ / name, folder_ / "copy" / name);
  for (const fs::path& folder : {folder_.path(), folder_ / "copy"})
    EXPECT_THAT(expect_error(ErrorCode::kIo, folder / "b", [&] { read_file(folder / "b"); }),
                HasSubstr("is older than the files that belong to it"));
}

TEST_F(PublishTogether, WhatHasTheNameOfAMarkAndIsNoneIsKept) {
  const auto expect_in_the_way = [&] {
    EXPECT_EQ(contents(), "old a, old b");
    EXPECT_THAT(expect_error(ErrorCode::kIo, folder_ / "b.superseded", [&] { publish(); }),
                HasSubstr("is in the way: a file of this name marks"));
    EXPECT_EQ(contents(), "old a, old b");
  };
  fs::create_directory(folder_ / "b.superseded");
  expect_in_the_way();
  fs::remove(folder_ / "b.superseded");
  fs::create_symlink("a", folder_ / "b.superseded");
  expect_in_the_way();
  fs::remove(folder_ / "b.superseded");
  put(folder_ / "b.superseded", "a text of mine\n");
  expect_in_the_way();
  write_file(folder_ / "b", "new b");
  EXPECT_EQ(raw(folder_ / "b.superseded"), "a text of mine\n");
}

}  // namespace
}  // namespace dragoman::core

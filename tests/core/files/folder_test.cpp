#include "error_message.h"
#include "file_testing.h"
#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>
#include <dragoman/core/folder.h>

namespace dragoman::core {
namespace {

namespace fs = std::filesystem;
using dragoman::testing::TemporaryFolder;
using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::names_in;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

void fill(const fs::path& folder, std::string_view text) {
  fs::create_directories(folder);
  write_file(folder / "file", text);
}

TEST(StagedFolder, TakesThePlaceOfTheOldOneAllAtOnce) {
  const TemporaryFolder folder;
  fill(folder / "x", "old");
  StagedFolder staged(folder / "x");
  EXPECT_THAT(names_in(staged.folder()), IsEmpty());
  write_file(staged.folder() / "file", "new");
  EXPECT_EQ(read_file(folder / "x" / "file"), "old");
  staged.commit();
  EXPECT_EQ(read_file(folder / "x" / "file"), "new");
  EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre("x"));
}

TEST(StagedFolder, WithoutCommitLeavesWhatWasThere) {
  const TemporaryFolder folder;
  fill(folder / "x", "old");
  {
    const StagedFolder staged(folder / "x");
    write_file(staged.folder() / "file", "new");
  }
  EXPECT_EQ(read_file(folder / "x" / "file"), "old");
  EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre("x"));
}

TEST(StagedFolder, BelongsToOneAtATime) {
  const TemporaryFolder folder;
  for (const char* target : {"new", "old"}) {
    if (target == std::string("old")) fill(folder / target, "old");
    StagedFolder first(folder / target);
    write_file(first.folder() / "file", "first");
    EXPECT_THAT(error_of([&] { StagedFolder(folder / target); }),
                AllOf(HasSubstr(target), HasSubstr("another process")));
    EXPECT_EQ(read_file(first.folder() / "file"), "first");
    first.commit();
    EXPECT_EQ(read_file(folder / target / "file"), "first");
    // The lock is on what is now the target, and outlives the exchange of names.
    EXPECT_THAT(error_of([&] { StagedFolder(folder / target); }), HasSubstr("another process"));
  }
  EXPECT_NO_THROW(StagedFolder(folder / "old"));
}

TEST(StagedFolder, TakesOverWhatAKilledProcessLeft) {
  const TemporaryFolder folder;
  fill(folder / "x.partial", "half");
  StagedFolder staged(folder / "x");
  EXPECT_THAT(names_in(staged.folder()), IsEmpty());
}

TEST(StagedFolder, GivesBackItsNameToWhatAKilledProcessWasReplacing) {
  const TemporaryFolder folder;
  fill(folder / "x.replaced", "old");
  fill(folder / "x.partial", "new");
  { const StagedFolder staged(folder / "x"); }
  EXPECT_EQ(read_file(folder / "x" / "file"), "old");
  EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre("x"));

  fill(folder / "x.replaced", "older");
  { const StagedFolder staged(folder / "x"); }
  EXPECT_EQ(read_file(folder / "x" / "file"), "old");
  EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre("x"));
}

TEST(StagedFolder, RefusesLeftoversThatMayNotBeRemoved) {
  const TemporaryFolder folder;
  fill(folder / "x.partial", "thesis");
  EXPECT_THAT(error_of([&] { StagedFolder(folder / "x", [](const fs::path&) {}); }),
              AllOf(HasSubstr("x.partial"), HasSubstr("cannot be cleared away")));
  EXPECT_EQ(read_file(folder / "x.partial" / "file"), "thesis");
}

TEST(StagedFolder, FollowsLinks) {
  const TemporaryFolder folder;
  fill(folder / "real", "old");
  fs::create_directory_symlink("real", folder / "link");
  StagedFolder staged(folder / "link" / "");
  write_file(staged.folder() / "file", "new");
  staged.commit();
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "real" / "file"), "new");
}

// Row 17 of the faults that were found: "cannot rename to o/r: Success".
TEST(StagedFolder, ALinkInThePlaceOfTheFolderInTheMakingIsNotFollowed) {
  const TemporaryFolder folder;
  fill(folder / "precious", "precious");
  for (const char* suffix : {".partial", ".replaced"}) {
    const fs::path link = folder / (std::string("target") + suffix);
    fs::create_directory_symlink("precious", link);
    EXPECT_THAT(error_of([&] { StagedFolder staged(folder / "target"); }),
                AllOf(HasSubstr(link.string()), HasSubstr("it is a link")));
    fs::remove(link);
  }
  EXPECT_EQ(read_file(folder / "precious" / "file"), "precious");
}

TEST(ListFolder, IsSortedAndTellsWhatCannotBeListed) {
  const TemporaryFolder folder;
  for (const char* name : {"b", "a", "c"}) write_file(folder / name, "");
  EXPECT_EQ(list_folder(folder.path()), (std::vector<fs::path>{folder / "a", folder / "b", folder / "c"}));
  EXPECT_THAT(list_folder(folder / "missing"), IsEmpty());
  EXPECT_THAT(error_of([&] { list_folder(folder / "a"); }), HasSubstr("cannot list the folder"));
}

TEST(RenameDurably, TellsTheReasonOfAFailure) {
  const TemporaryFolder folder;
  fill(folder / "a", "a");
  fill(folder / "b", "b");
  EXPECT_THAT(error_of([&] { rename_durably(folder / "a", folder / "b"); }),
              AllOf(HasSubstr("cannot rename"), HasSubstr("not empty"), Not(HasSubstr("Success"))));
  EXPECT_THAT(error_of([&] { rename_durably(folder / "a", folder / "none" / "b"); }), HasSubstr("No such file"));
  rename_durably(folder / "a", folder / "c");
  EXPECT_EQ(read_file(folder / "c" / "file"), "a");
}

TEST(LockFolder, MakesTheFolderAndKeepsOthersOut) {
  const TemporaryFolder folder;
  std::optional<FileLock> lock = lock_folder(folder / "a" / "b");
  EXPECT_TRUE(fs::is_directory(folder / "a" / "b"));
  EXPECT_THAT(error_of([&] { lock_folder(folder / "a" / "b"); }), HasSubstr("another process"));
  lock.reset();
  EXPECT_NO_THROW(lock_folder(folder / "a" / "b"));
  write_file(folder / "file", "");
  EXPECT_THAT(error_of([&] { lock_folder(folder / "file"); }), HasSubstr("cannot make the folder"));
}

TEST(UnusedName, CountsUp) {
  const TemporaryFolder folder;
  EXPECT_EQ(unused_name(folder / "x"), folder / "x");
  fill(folder / "x", "");
  EXPECT_EQ(unused_name(folder / "x"), folder / "x-2");
  fs::create_symlink("nowhere", folder / "x-2");
  EXPECT_EQ(unused_name(folder / "x"), folder / "x-3");
}

TEST(ResolveFolder, RefusesTheRoot) {
  EXPECT_THAT(error_of([] { resolve_folder("/"); }), HasSubstr("nothing can take the place"));
}

}  // namespace
}  // namespace dragoman::core

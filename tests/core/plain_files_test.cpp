// Files that are opened once, and examined after they are open.
#include "file_testing.h"
#include "test_data.h"

#include <sys/stat.h>

#include <array>

#include <dragoman/core/append_file.h>
#include <dragoman/core/regular_file.h>

namespace dragoman::core {
namespace {

using dragoman::testing::TemporaryFolder;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::put;
using testing::raw;

namespace fs = std::filesystem;
using Start = AppendFile::Start;

class AppendFileTest : public ::testing::Test {
 protected:
  fs::path log() const { return folder_ / "log"; }
  TemporaryFolder folder_;
};

TEST_F(AppendFileTest, ANewFileIsCreatedAndAnExistingOneContinued) {
  AppendFile first(log(), Start::kNew);
  first.append("one\n");
  AppendFile second(log(), Start::kExisting);
  second.append("two\n");
  first.append("three\n");
  EXPECT_EQ(raw(log()), "one\ntwo\nthree\n");
}

TEST_F(AppendFileTest, ANewFileReplacesNothingAndAnExistingOneMustExist) {
  expect_error(ErrorCode::kIo, log(), [&] { AppendFile(log(), Start::kExisting); });
  EXPECT_FALSE(fs::exists(log()));
  put(log(), "old");
  expect_error(ErrorCode::kIo, log(), [&] { AppendFile(log(), Start::kNew); });
  EXPECT_EQ(raw(log()), "old");
}

TEST_F(AppendFileTest, NothingIsWrittenThroughALink) {
  put(folder_ / "elsewhere", "kept");
  fs::create_symlink(folder_ / "elsewhere", log());
  for (const Start start : {Start::kNew, Start::kExisting})
    expect_error(ErrorCode::kIo, log(), [&] { AppendFile(log(), start); });
  fs::remove(log());
  fs::create_hard_link(folder_ / "elsewhere", log());
  EXPECT_THAT(expect_error(ErrorCode::kIo, log(), [&] { AppendFile(log(), Start::kExisting); }),
              HasSubstr("another name"));
  EXPECT_EQ(raw(folder_ / "elsewhere"), "kept");
}

/// A pipe without a reader would hold the program up.
TEST_F(AppendFileTest, PipesAndDevicesAreRefusedAtOnce) {
  ASSERT_EQ(::mkfifo(log().c_str(), 0600), 0);
  expect_error(ErrorCode::kIo, log(), [&] { AppendFile(log(), Start::kExisting); });
  expect_error(ErrorCode::kIo, "/dev/null", [&] { AppendFile("/dev/null", Start::kExisting); });
  expect_error(ErrorCode::kIo, "/dev/full", [&] { AppendFile("/dev/full", Start::kExisting); });
}

TEST_F(AppendFileTest, AFileThatTakesItsNameLaterIsNotWritten) {
  AppendFile file(log(), Start::kNew);
  fs::rename(log(), folder_ / "aside");
  put(log(), "of others");
  file.append("line\n");
  EXPECT_EQ(raw(log()), "of others");
  EXPECT_EQ(raw(folder_ / "aside"), "line\n");
}

TEST(RegularFileTest, GivesTheBytesAsTheyAre) {
  const TemporaryFolder folder;
  const std::string bytes("\x1f\x8b no gzip\0file", 16);
  put(folder / "file", bytes);
  fs::create_symlink(folder / "file", folder / "link");
  for (const char* name : {"file", "link"}) {
    RegularFile file(folder / name);
    std::array<char, 10> block{};
    EXPECT_EQ(file.read(block), 10U);
    EXPECT_EQ(std::string(block.data(), 10), bytes.substr(0, 10));
    EXPECT_EQ(file.read(block), 6U);
    EXPECT_EQ(std::string(block.data(), 6), bytes.substr(10));
    EXPECT_EQ(file.read(block), 0U);
  }
}

TEST(RegularFileTest, RefusesAllElseAtOnce) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const fs::path& path : {folder / "pipe", folder.path(), folder / "missing", fs::path("/dev/zero")})
    expect_error(ErrorCode::kIo, path, [&] { RegularFile{path}; });
}

}  // namespace
}  // namespace dragoman::core

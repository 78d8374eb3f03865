#include "file_testing.h"
#include "test_data.h"

#include <sys/stat.h>

#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file.h>

namespace dragoman::core {
namespace {

using dragoman::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

using testing::expect_error;
using testing::lines_of;
using testing::put;
using testing::raw;
using testing::run;

class FileTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
};

TEST_F(FileTest, LinesEndAtLineFeeds) {
  put(folder_ / "a", "one\ntwo\n\nfour\n");
  EXPECT_THAT(lines_of(folder_ / "a"), ElementsAre("one", "two", "", "four"));
}

TEST_F(FileTest, AnUnterminatedLastLineCounts) {
  put(folder_ / "a", "one\ntwo");
  EXPECT_THAT(lines_of(folder_ / "a"), ElementsAre("one", "two"));
}

TEST_F(FileTest, CarriageReturnsAndNulBytesAreKept) {
  put(folder_ / "a", std::string_view("one\r\n\r\nt\0o\r", 11));
  EXPECT_THAT(lines_of(folder_ / "a"), ElementsAre("one\r", "\r", std::string("t\0o\r", 4)));
}

TEST_F(FileTest, AByteOrderMarkIsNoPartOfTheFirstLine) {
  put(folder_ / "bom", "\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n");
  EXPECT_THAT(lines_of(folder_ / "bom"), ElementsAre("one", "\xEF\xBB\xBFtwo"));
  put(folder_ / "bom", "\xEF\xBB\xBF");
  EXPECT_THAT(lines_of(folder_ / "bom"), ElementsAre());
}

/// The beginning of a zip archive whose first file has this name.
std::string zip_with(std::string_view name) {
  std::string head("PK\x03\x04", 4);
  head.resize(26);
  head += {static_cast<char>(name.size()), '\0', '\0', '\0'};
  return head.append(name).append("rest");
}

TEST_F(FileTest, FilesOfOtherProgramsAreNamed) {
  struct Case {
    std::string content;
    const char* name;
  };
  const Case cases[] = {{zip_with("archive/data.pkl"), "is a PyTorch file; it holds tensors, no text"},
                        {zip_with("checkpoint_best/data.pkl"), "is a PyTorch file;"},
                        {std::string("\x80\x02\x8a\x0a\x6c\xfc", 6), "is a PyTorch file from before version 1.6"},
                        {zip_with("decoder_Wemb.npy"), "is a NumPy file (.npz)"},
                        {zip_with("news.txt"), "is a zip archive; unpack it first"},
                        {zip_with(""), "is a zip archive"},
                        {"PK\x03\x04", "is a zip archive"}};
  for (const auto& [content, name] : cases) {
    put(folder_ / "a", content);
    const fs::path path = folder_ / "a";
    EXPECT_THAT(expect_error(ErrorCode::kBadInput, path, [&] { lines_of(path); }), HasSubstr(name));
    EXPECT_THAT(expect_error(ErrorCode::kBadInput, path, [&] { read_file(path, 1000); }), HasSubstr(name));
  }
  put(folder_ / "a", std::string("PK\x03", 3));
  EXPECT_THAT(lines_of(folder_ / "a"), ElementsAre("PK\x03"));
}

TEST_F(FileTest, SkippableFramesOfZstandardMayComeFirst) {
  put(folder_ / "text", "one\ntwo\n");
  run("zstd -q '" + (folder_ / "text").string() + "'");
  const std::string frame = raw(folder_ / "text.zst");
  for (const char magic : {'\x50', '\x5F'}) {
    put(folder_ / "skippable", std::string(1, magic) + std::string("\x2A\x4D\x18\x04\0\0\0abcd", 11) + frame);
    EXPECT_THAT(lines_of(folder_ / "skippable"), ElementsAre("one", "two"));
  }
}

TEST_F(FileTest, KnowsWhichNamesAreOfOneFile) {
  put(folder_ / "a", "");
  fs::create_symlink("a", folder_ / "link");
  fs::create_hard_link(folder_ / "a", folder_ / "second");
  EXPECT_TRUE(same_file(folder_ / "a", folder_ / "link"));
  EXPECT_TRUE(same_file(folder_ / "a", folder_ / "second"));
  EXPECT_TRUE(same_file(folder_ / "new", folder_.path() / "." / "new")) << "before it is there";
  EXPECT_FALSE(same_file(folder_ / "a", folder_ / "b"));
  EXPECT_FALSE(same_file("-", "-"));
  EXPECT_FALSE(same_file("/dev/null", "/dev/null")) << "nor is a terminal that is read and written";
}

TEST_F(FileTest, AnEmptyFileHasNoLines) {
  put(folder_ / "a", "");
  EXPECT_THAT(lines_of(folder_ / "a"), ElementsAre());
  put(folder_ / "b", "\n");
  EXPECT_THAT(lines_of(folder_ / "b"), ElementsAre(""));
}

TEST_F(FileTest, FilesShorterThanAMagicNumberAreText) {
  for (const char* content : {"a", "ab", "\x1f", "\x28\xb5\x2f"}) {
    put(folder_ / "a", content);
    EXPECT_THAT(lines_of(folder_ / "a"), ElementsAre(content));
  }
}

TEST_F(FileTest, LinesMayBeLongerThanTheBuffer) {
  const std::string long_line(3 << 20, 'x');
  put(folder_ / "a", "short\n" + long_line + "\nend");
  EXPECT_THAT(lines_of(folder_ / "a"), ElementsAre("short", long_line, "end"));
}

TEST_F(FileTest, CountsBytesAndKnowsTheSize) {
  put(folder_ / "a", "one\ntwo");
  LineReader reader(folder_ / "a");
  EXPECT_EQ(reader.size_on_disk(), 7U);
  std::string line;
  reader.next(line);
  EXPECT_EQ(reader.bytes_read(), 4U);
  reader.next(line);
  EXPECT_EQ(reader.bytes_read(), 7U);
}

std::string numbered_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

class CompressedTest : public ::testing::TestWithParam<std::string> {
 protected:
  fs::path compressed(const std::string& content) {
    put(folder_ / "plain", content);
    const fs::path path = folder_ / "data.bin";  // recognised by content, whatever the name
    run(GetParam() + " -c < " + (folder_ / "plain").string() + " > " + path.string());
    return path;
  }
  TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(Programs, CompressedTest, ::testing::Values("gzip", "zstd -q"),
                         [](const auto& test) { return test.param.substr(0, 4); });

TEST_P(CompressedTest, IsReadAsItsContent) {
  const std::string text = numbered_lines(300000);
  const fs::path path = compressed(text);
  EXPECT_EQ(read_file(path), text);
  EXPECT_EQ(lines_of(path).size(), 300000U);
}

TEST_P(CompressedTest, AnEmptyFileIsEmpty) {
  EXPECT_EQ(read_file(compressed("")), "");
}

TEST_P(CompressedTest, SeveralMembersAreOneText) {
  const std::string text = numbered_lines(5000);
  const std::string member = raw(compressed(text));
  put(folder_ / "twice", member + member);
  EXPECT_EQ(read_file(folder_ / "twice"), text + text);
}

TEST_P(CompressedTest, ATruncatedFileIsAnErrorWhereverItIsCut) {
  const std::string whole = raw(compressed(numbered_lines(20000)));
  for (const std::size_t size :
       {whole.size() - 1, whole.size() - 5, whole.size() / 2, std::size_t{20}, std::size_t{5}}) {
    const fs::path path = folder_ / "cut";
    put(path, whole.substr(0, size));
    expect_error(ErrorCode::kBadInput, path, [&] { read_file(path); });
  }
}

TEST_P(CompressedTest, DamageIsAnError) {
  std::string bytes = raw(compressed(numbered_lines(20000)));
  for (std::size_t i = bytes.size() / 2; i < bytes.size() / 2 + 40; ++i) bytes[i] = static_cast<char>(~bytes[i]);
  const fs::path path = folder_ / "damaged";
  put(path, bytes);
  expect_error(ErrorCode::kBadInput, path, [&] { read_file(path); });
}

TEST_F(FileTest, AMissingFileADirectoryAndAForbiddenFileAreErrors) {
  const fs::path missing = folder_ / "missing";
  EXPECT_THAT(expect_error(ErrorCode::kIo, missing, [&] { InputFile file(missing); }), HasSubstr("No such file"));
  const std::string message = expect_error(ErrorCode::kIo, folder_.path(), [&] { InputFile file(folder_.path()); });
  EXPECT_THAT(message, HasSubstr("directory"));
  EXPECT_THAT(expect_error(ErrorCode::kIo, folder_.path(), [&] { OutputFile file(folder_.path()); }),
              HasSubstr("directory"));
}

TEST_F(FileTest, ReadFileRefusesWhatIsTooLarge) {
  put(folder_ / "a", std::string(1000, 'x'));
  EXPECT_EQ(read_file(folder_ / "a", 1000).size(), 1000U);
  const std::string message = expect_error(ErrorCode::kBadInput, folder_ / "a", [&] { read_file(folder_ / "a", 999); });
  EXPECT_THAT(message, HasSubstr("999"));
}

TEST_F(FileTest, AFileTakesItsNameOnlyWhenItIsCommitted) {
  const fs::path path = folder_ / "out";
  put(path, "old");
  OutputFile file(path);
  EXPECT_EQ(file.name(), path.string());
  EXPECT_EQ(file.partial_name(), path.string() + ".partial");
  file.write("new ");
  file.write("content");
  file.flush();
  EXPECT_EQ(raw(path), "old");
  EXPECT_EQ(raw(file.partial_name()), "new content");
  file.commit();
  EXPECT_EQ(raw(path), "new content");
  EXPECT_FALSE(fs::exists(path.string() + ".partial"));
}

TEST_F(FileTest, WithoutCommitThePartialFileKeepsWhatWasWritten) {
  const fs::path path = folder_ / "out";
  { OutputFile(path).write("half of it"); }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(raw(path.string() + ".partial"), "half of it");
}

TEST_F(FileTest, WritesLargerThanTheBufferArriveInOrder) {
  const fs::path path = folder_ / "out";
  std::string expected;
  OutputFile file(path);
  for (int i = 0; i < 40; ++i) {
    const std::string part(static_cast<std::size_t>(1 + i * 70000), static_cast<char>('a' + i % 26));
    file.write(part);
    expected += part;
  }
  file.commit();
  EXPECT_TRUE(raw(path) == expected);
}

TEST_F(FileTest, AFullDiskIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  OutputFile file("/dev/full");
  EXPECT_EQ(file.partial_name(), "/dev/full") << "devices are written directly";
  file.write("text");
  EXPECT_THAT(expect_error(ErrorCode::kIo, "/dev/full", [&] { file.flush(); }), HasSubstr("No space left"));
  expect_error(ErrorCode::kIo, "/dev/full", [&] { file.write(std::string(3 << 20, 'x')); });
}

TEST_F(FileTest, AMissingFolderIsAnError) {
  const fs::path path = folder_ / "no-such-folder/out";
  EXPECT_THAT(expect_error(ErrorCode::kIo, path, [&] { OutputFile file(path); }), HasSubstr("No such file"));
}

TEST_F(FileTest, APipeIsWrittenDirectly) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  run("cat " + pipe.string() + " > " + (folder_ / "copy").string() + " &");
  {
    OutputFile file(pipe);
    file.write("through the pipe\n");
    file.commit();
  }
  for (int i = 0; i < 200 && raw(folder_ / "copy").empty(); ++i) run("sleep 0.01");
  EXPECT_EQ(raw(folder_ / "copy"), "through the pipe\n");
}

TEST_F(FileTest, WriteFileReplacesTheContent) {
  write_file(folder_ / "a", "one");
  write_file(folder_ / "a", "two");
  EXPECT_EQ(read_file(folder_ / "a"), "two");
}

TEST_F(FileTest, AStopRequestEndsTheWaitForASilentPipe) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int writer = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::write(writer, "one\ntw", 6), 6);
  std::stop_source stop;
  LineReader reader(pipe, stop.get_token());
  std::string line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "one");
  const std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  expect_error(ErrorCode::kInterrupted, pipe, [&] { reader.next(line); });
  ::close(writer);
}

TEST(ReadBeginning, GivesWhatIsThereAndNamesWhatIsNot) {
  const TemporaryFolder folder;
  std::ofstream(folder / "short") << "abc";
  std::ofstream(folder / "long") << std::string(100000, 'x');
  EXPECT_EQ(read_beginning(folder / "short", 10), "abc");
  EXPECT_EQ(read_beginning(folder / "long", 70000), std::string(70000, 'x'));
  EXPECT_EQ(read_beginning(folder / "long", 0), "");
  try {
    read_beginning(folder / "missing", 1);
    FAIL() << "a file that is not there was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("missing"));
  }
  EXPECT_THROW(read_beginning(folder.path(), 1), Error) << "a folder";
}

}  // namespace
}  // namespace dragoman::core

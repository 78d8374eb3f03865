#include "file_size_limit.h"
#include "file_testing.h"
#include "test_data.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include <dragoman/core/error.h>
#include <dragoman/core/file_lock.h>
#include <dragoman/core/folder.h>
#include <dragoman/core/named_file.h>

namespace dragoman::core {
namespace {

using dragoman::testing::TemporaryFolder;
using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::names_in;
using ::testing::Not;
using testing::put;
using testing::raw;
using testing::run;

namespace fs = std::filesystem;

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777U;
}

void write_whole(const fs::path& path, std::string_view content, const OutputOptions& options = {}) {
  OutputFile file(path, options);
  file.write(content);
  file.commit();
}

class OutputFileTest : public ::testing::Test {
 protected:
  fs::path out() const { return folder_ / "out"; }
  fs::path partial() const { return folder_ / "out.partial"; }
  TemporaryFolder folder_;
};

// --- whose file it is ---

TEST_F(OutputFileTest, ALinkKeepsPointingAndItsTargetIsReplaced) {
  fs::create_directory(folder_ / "there");
  put(folder_ / "there/file", "old");
  fs::create_symlink("there/file", out());
  write_whole(out(), "new");
  EXPECT_TRUE(fs::is_symlink(out()));
  EXPECT_EQ(raw(folder_ / "there/file"), "new");
  EXPECT_THAT(names_in(folder_ / "there"), ElementsAre("file"));
}

TEST_F(OutputFileTest, ALinkToNothingYetMakesItsTarget) {
  fs::create_symlink(folder_ / "target", out());
  write_whole(out(), "new");
  EXPECT_TRUE(fs::is_symlink(out()));
  EXPECT_EQ(raw(folder_ / "target"), "new");
}

TEST_F(OutputFileTest, LinksInACircleAreAnError) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_THAT(expect_error(ErrorCode::kIo, folder_ / "a", [&] { OutputFile file(folder_ / "a"); }), HasSubstr("links"));
}

TEST_F(OutputFileTest, ALinkToAnOpenDescriptorIsWrittenDirectlyAndStaysALink) {
  put(folder_ / "redirected", "before\n");
  const int fd = ::open((folder_ / "redirected").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  fs::create_symlink("/proc/self/fd/" + std::to_string(fd), out());  // as /dev/stdout is
  write_whole(out(), "after\n");
  EXPECT_TRUE(fs::is_symlink(out()));
  EXPECT_EQ(raw(folder_ / "redirected"), "before\nafter\n");
  EXPECT_NE(::fcntl(fd, F_GETFD), -1) << "the caller's descriptor stays open";
  ::close(fd);
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("out", "redirected"));
}

TEST_F(OutputFileTest, APartialFileThatIsALinkIsNotFollowed) {
  put(folder_ / "precious", "precious");
  fs::create_symlink("precious", partial());
  EXPECT_THAT(expect_error(ErrorCode::kIo, partial(), [&] { OutputFile file(out()); }), HasSubstr("link"));
  EXPECT_EQ(raw(folder_ / "precious"), "precious");
}

TEST_F(OutputFileTest, APartialFileWithASecondNameIsNotWritten) {
  put(folder_ / "precious", "precious");
  fs::create_hard_link(folder_ / "precious", partial());
  EXPECT_THAT(expect_error(ErrorCode::kIo, partial(), [&] { OutputFile file(out()); }), HasSubstr("in the way"));
  EXPECT_EQ(raw(folder_ / "precious"), "precious");
}

TEST_F(OutputFileTest, AFileKeepsItsPermissionsAndANewOneObeysTheUmask) {
  put(out(), "old");
  for (const mode_t mode : {0600U, 0640U, 0666U}) {
    ASSERT_EQ(::chmod(out().c_str(), mode), 0);
    OutputFile file(out());
    EXPECT_EQ(mode_of(partial()), mode) << "nobody else may read the partial file either";
    file.write("new");
    file.commit();
    EXPECT_EQ(mode_of(out()), mode);
  }
  const mode_t old_mask = ::umask(027);
  write_whole(folder_ / "fresh", "new");
  ::umask(old_mask);
  EXPECT_EQ(mode_of(folder_ / "fresh"), 0640U);
}

TEST_F(OutputFileTest, TwoWritersOfOneFileDoNotMix) {
  OutputFile first(out());
  first.write("first\n");
  EXPECT_THAT(expect_error(ErrorCode::kIo, partial(), [&] { OutputFile second(out()); }), HasSubstr("in use"));
  first.commit();
  EXPECT_EQ(raw(out()), "first\n");
  write_whole(out(), "second\n");
  EXPECT_EQ(raw(out()), "second\n");
}

TEST_F(OutputFileTest, ItsOwnInputIsNotTruncatedWhicheverIsOpenedFirst) {
  put(partial(), "input\n");
  const auto write_something = [&] {
    OutputFile file(out());
    file.write("output");
    file.flush();
  };
  {
    const InputFile input(partial());
    expect_error(ErrorCode::kIo, partial(), write_something);
  }
  {
    const OutputFile output(out());
    EXPECT_THAT(expect_error(ErrorCode::kIo, partial(), [&] { InputFile input(partial()); }),
                HasSubstr("being written"));
    EXPECT_THAT(expect_error(ErrorCode::kIo, folder_ / "link",
                             [&] {
                               fs::create_symlink(partial(), folder_ / "link");
                               InputFile input(folder_ / "link");
                             }),
                HasSubstr("being written"));
  }
  EXPECT_EQ(raw(partial()), "input\n");
}

// --- what an interrupted run left ---

TEST_F(OutputFileTest, WhatStandsInThePlaceOfItsRecordIsNotWritten) {
  const fs::path job = folder_ / "out.partial.job";
  const OutputOptions options{.identity = "{}"};
  put(folder_ / "precious", "precious\n");
  fs::create_hard_link(folder_ / "precious", job);
  expect_error(ErrorCode::kIo, job, [&] { OutputFile(out(), options); });
  fs::remove(job);
  fs::create_symlink("precious", job);
  expect_error(ErrorCode::kIo, job, [&] { OutputFile(out(), options); });
  EXPECT_EQ(raw(folder_ / "precious"), "precious\n");
  fs::remove(job);
  ASSERT_EQ(::mkfifo(job.c_str(), 0600), 0);
  expect_error(ErrorCode::kIo, job, [&] { OutputFile(out(), options); });
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("out.partial.job", "precious"));
}

TEST_F(OutputFileTest, AnInputCalledLikeItsRecordIsKept) {
  const fs::path job = folder_ / "out.partial.job";
  put(job, "one\ntwo\n");
  for (const char* identity : {"", "{}"}) {
    LineReader input(job);
    expect_error(ErrorCode::kIo, job, [&] { OutputFile(out(), {.identity = identity}); });
  }
  EXPECT_EQ(raw(job), "one\ntwo\n");
  EXPECT_FALSE(fs::exists(partial()));
}

TEST_F(OutputFileTest, AnEmptyNameIsRefused) {
  EXPECT_THROW(OutputFile(""), Error);
}

/// A power cut may take lines of the file and leave the notes.
TEST_F(OutputFileTest, ANoteThatSpeaksOfMoreLinesThanThereAreVouchesForNone) {
  const auto vouched = [](const std::vector<std::string>& notes) {
    return notes.empty() ? std::uint64_t{0} : std::stoull(notes.back());
  };
  put(partial(), "1\n2\n3\n");
  put(folder_ / "out.partial.job", "{}\n2\n5\n");
  const OutputFile file(out(), {.partial = PartialPolicy::kResume, .identity = "{}", .vouched = vouched});
  EXPECT_EQ(file.lines_kept(), 2U);
}

TEST_F(OutputFileTest, GoesOnAfterTheLinesThatItsNotesVouchFor) {
  const auto vouched = [](const std::vector<std::string>& notes) {
    return notes.empty() ? std::uint64_t{0} : std::stoull(notes.back());
  };
  for (const char* name : {"out", "out.gz", "out.zst"}) {
    const fs::path path = folder_ / name;
    {
      OutputFile file(path, {.identity = "{}"});
      file.write("1\n2\n");
      file.flush();
      file.note("2");
      std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // a compressed member is a second long
      file.write("3\n4\n");
      file.flush();
    }
    OutputFile file(path, {.partial = PartialPolicy::kResume, .identity = "{}", .vouched = vouched});
    EXPECT_LE(file.lines_kept(), 2U) << name;
    if (file.lines_kept() == 2) {
      EXPECT_THAT(file.notes(), ElementsAre("2"));
    }
  }
  OutputFile file(out(), {.partial = PartialPolicy::kResume, .identity = "{}", .vouched = vouched});
  EXPECT_EQ(file.lines_kept(), 2U);
  file.write("three\n");
  file.commit();
  EXPECT_EQ(raw(out()), "1\n2\nthree\n");
}

TEST_F(OutputFileTest, NothingWrittenLeavesNothing) {
  { const OutputFile file(out(), {.identity = "job"}); }
  EXPECT_THAT(names_in(folder_.path()), ElementsAre());
  put(partial(), "of an earlier run\n");
  { const OutputFile file(out()); }
  EXPECT_EQ(raw(partial()), "of an earlier run\n");
}

TEST_F(OutputFileTest, ATemporaryFileLeavesNothing) {
  { OutputFile(out(), {.partial = PartialPolicy::kTemporary}).write(std::string(3 << 20, 'x')); }
  EXPECT_THAT(names_in(folder_.path()), ElementsAre());
}

TEST_F(OutputFileTest, ACompleteFileHasItsNameWhenItIsPublished) {
  put(out(), "old");
  {
    OutputFile file(out(), {.partial = PartialPolicy::kTemporary});
    file.write("new");
    file.complete();
    EXPECT_EQ(raw(out()), "old");
    EXPECT_EQ(raw(partial()), "new");
    file.publish();
    EXPECT_EQ(raw(out()), "new");
  }
  {
    OutputFile file(out(), {.partial = PartialPolicy::kTemporary});
    file.write("newer");
    file.complete();
  }
  EXPECT_EQ(raw(out()), "new");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("out"));
}

TEST_F(OutputFileTest, AnInterruptedJobIsNotOverwrittenUnasked) {
  put(partial(), "one\ntwo\n");
  const std::string message = expect_error(ErrorCode::kInvalidArgument, partial(),
                                           [&] { OutputFile file(out(), {.partial = PartialPolicy::kRefuse}); });
  EXPECT_THAT(message, HasSubstr("`resume`"));
  EXPECT_THAT(message, HasSubstr("`overwrite`"));
  EXPECT_EQ(raw(partial()), "one\ntwo\n");
  put(partial(), "");
  write_whole(out(), "new", {.partial = PartialPolicy::kRefuse});
  EXPECT_EQ(raw(out()), "new");
}

TEST_F(OutputFileTest, AnInterruptedJobGoesOnAfterItsLastCompleteLine) {
  const OutputOptions job{.partial = PartialPolicy::kResume, .identity = R"({"model": "a", "beam": 4})"};
  {
    OutputFile file(out(), job);
    file.write("one\ntwo\nthr");
    file.flush();
    file.note("noted at 2");
    file.note("noted at 3");
  }
  std::ofstream(folder_ / "out.partial.job", std::ios::app) << "cut off by a kill";
  {
    OutputFile file(out(), job);
    EXPECT_EQ(file.lines_kept(), 2U);
    EXPECT_THAT(file.notes(), ElementsAre("noted at 2", "noted at 3"));
    file.write("three\n");
    file.note("noted at 3 again");
  }
  OutputFile file(out(), job);
  EXPECT_EQ(file.lines_kept(), 3U);
  EXPECT_THAT(file.notes(), ElementsAre("noted at 2", "noted at 3", "noted at 3 again"));
  file.commit();
  EXPECT_EQ(raw(out()), "one\ntwo\nthree\n");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("out"));
}

TEST_F(OutputFileTest, AJobOfSomethingElseIsNotContinued) {
  {
    OutputFile file(out(), {.identity = R"({"model": "a", "beam": 4})"});
    file.write("one\n");
  }
  const auto resume = [&](const std::string& identity) {
    return expect_error(ErrorCode::kInvalidArgument, partial(),
                        [&] { OutputFile file(out(), {.partial = PartialPolicy::kResume, .identity = identity}); });
  };
  EXPECT_THAT(resume(R"({"model": "a", "beam": 5})"), HasSubstr("beam was 4 and is now 5"));
  EXPECT_THAT(resume(R"({"model": "a", "beam": 5})"), Not(HasSubstr("model was")));
  EXPECT_THAT(resume("no JSON"), HasSubstr("'no JSON'"));
  fs::remove(folder_ / "out.partial.job");
  EXPECT_THAT(resume(R"({"model": "a", "beam": 4})"), HasSubstr("missing"));
  EXPECT_EQ(raw(partial()), "one\n");
}

TEST_F(OutputFileTest, WhatAnotherCommandWroteIsNotContinued) {
  const OutputOptions job{.partial = PartialPolicy::kResume, .identity = R"({"model": "a"})"};
  {
    OutputFile file(out(), job);
    file.write("of the job\n");
  }
  { OutputFile(out()).write("of another command\n"); }
  EXPECT_THAT(expect_error(ErrorCode::kInvalidArgument, partial(), [&] { OutputFile file(out(), job); }),
              HasSubstr("missing"));
}

TEST_F(OutputFileTest, AFileThatTakesTheObjectOfAnotherLeavesWhatThatOneWrote) {
  OutputFile file(out());
  file.write("first\n");
  file = OutputFile(folder_ / "other");
  EXPECT_EQ(raw(partial()), "first\n");
}

TEST_F(OutputFileTest, AFullDiskSaysWhatIsKept) {
  const auto error_with = [&](const OutputOptions& options) {
    const testing::FileSizeLimit full(1 << 20);
    return expect_error(ErrorCode::kIo, partial(), [&] { write_whole(out(), std::string(3 << 20, 'x'), options); });
  };
  EXPECT_THAT(error_with({.partial = PartialPolicy::kTemporary}), Not(HasSubstr("kept")));
  EXPECT_THAT(names_in(folder_.path()), IsEmpty());
  EXPECT_THAT(error_with({}), HasSubstr("what was written before is kept"));
  EXPECT_EQ(fs::file_size(partial()), 1U << 20);
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  EXPECT_THAT(expect_error(ErrorCode::kIo, "/dev/full", [] { write_whole("/dev/full", "text"); }),
              Not(HasSubstr("kept")));
}

// --- compressed outputs ---

class CompressedOutputTest : public ::testing::TestWithParam<const char*> {
 protected:
  fs::path out() const { return folder_ / GetParam(); }
  std::string partial() const { return out().string() + ".partial"; }
  /// What other people's programs read from the file.
  std::string unpacked(const fs::path& path) const {
    const std::string program = std::string(GetParam()).ends_with(".gz") ? "gzip" : "zstd -q";
    run(program + " -t < " + path.string());
    run(program + " -dc < " + path.string() + " > " + (folder_ / "unpacked").string());
    return raw(folder_ / "unpacked");
  }
  TemporaryFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(Formats, CompressedOutputTest, ::testing::Values("out.gz", "out.zst"),
                         [](const auto& test) { return std::string(test.param).substr(4); });

std::string numbered(int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i)
    text += "line " + std::to_string(static_cast<std::uint32_t>(i) * 2654435761U) + "\n";
  return text;
}

TEST_P(CompressedOutputTest, IsWhatTheProgramsOfTheFormatRead) {
  const std::string text = numbered(0, 400000);  // several members
  OutputFile file(out());
  for (std::size_t i = 0; i < text.size(); i += 1000) {
    file.write(std::string_view(text).substr(i, 1000));
    file.flush();  // as for each line: must not make a member of each
  }
  file.commit();
  EXPECT_TRUE(unpacked(out()) == text);
  EXPECT_LT(fs::file_size(out()), text.size() * 3 / 4);
}

TEST_P(CompressedOutputTest, AnEmptyOneIsValid) {
  write_whole(out(), "");
  EXPECT_EQ(unpacked(out()), "");
}

TEST_P(CompressedOutputTest, AnInterruptedOneGoesOnWhereverItWasCut) {
  const std::string first = numbered(0, 150000);
  const std::string second = numbered(150000, 300000);
  {
    OutputFile file(out());
    file.write(first);
    file.write(second);
  }
  const std::string whole = raw(partial());
  for (const std::size_t size :
       {whole.size(), whole.size() - 1, whole.size() * 2 / 3, whole.size() / 3, std::size_t{7}}) {
    put(partial(), whole.substr(0, size));
    OutputFile file(out(), {.partial = PartialPolicy::kResume});
    if (size == whole.size()) {
      EXPECT_EQ(file.lines_kept(), 300000U);
    } else if (size == whole.size() * 2 / 3) {
      EXPECT_GT(file.lines_kept(), 0U) << "complete members stay";
    }
    file.write(numbered(static_cast<int>(file.lines_kept()), 300000));
    file.commit();
    EXPECT_TRUE(unpacked(out()) == first + second) << size;
  }
}

// --- what may go wrong ---

TEST_F(OutputFileTest, AFailedRenameSaysWhy) {
  OutputFile file(out());
  file.write("text");
  fs::create_directories(out() / "in the way");
  const std::string message = expect_error(ErrorCode::kIo, out(), [&] { file.commit(); });
  EXPECT_THAT(message, HasSubstr("directory"));
  EXPECT_THAT(message, Not(HasSubstr("Success")));
  EXPECT_EQ(raw(partial()), "text");
}

TEST_F(OutputFileTest, AReaderThatGoesAwayIsNoFailureOfOurs) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  OutputFile file("/dev/fd/" + std::to_string(ends[1]));
  ::close(ends[0]);
  file.write("text");
  const auto old = ::signal(SIGPIPE, SIG_IGN);
  expect_error(ErrorCode::kClosedPipe, "/dev/fd/", [&] { file.flush(); });
  ::signal(SIGPIPE, old);
  ::close(ends[1]);
}

TEST_F(OutputFileTest, AStopRequestEndsTheWaitForAReader) {
  ASSERT_EQ(::mkfifo(out().c_str(), 0600), 0);
  std::stop_source stop;
  {
    const std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stop.request_stop();
    });
    expect_error(ErrorCode::kInterrupted, out(), [&] { OutputFile file(out(), {.stop = stop.get_token()}); });
  }
  const int reader = ::open(out().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // that never reads
  OutputFile file(out(), {.stop = stop.get_token()});
  file.write(std::string(1 << 19, 'x'));
  expect_error(ErrorCode::kInterrupted, out(), [&] { file.flush(); });
  ::close(reader);
}

TEST_F(OutputFileTest, AnInputPipeWithoutAWriterCanBeStoppedAndOneWithAWriterIsRead) {
  ASSERT_EQ(::mkfifo(out().c_str(), 0600), 0);
  std::stop_source stop;
  {
    const std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stop.request_stop();
    });
    expect_error(ErrorCode::kInterrupted, out(), [&] { read_file(out(), 1 << 20, stop.get_token()); });
  }
  run("(sleep 0.1; echo text) > " + out().string() + " &");
  EXPECT_EQ(read_file(out()), "text\n") << "the writer came later";
}

TEST_F(OutputFileTest, AProgramCanStopWhatWaitsWithoutATokenOfItsOwn) {
  ASSERT_EQ(::mkfifo(out().c_str(), 0600), 0);
  std::stop_source stop;
  set_default_stop(stop.get_token());
  {
    const std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stop.request_stop();
    });
    expect_error(ErrorCode::kInterrupted, out(), [&] { read_file(out()); });
    expect_error(ErrorCode::kInterrupted, out(), [&] { OutputFile file(out()); });
  }
  set_default_stop({});
}

TEST_F(OutputFileTest, PartsOfAModelAreRegularFiles) {
  ASSERT_EQ(::mkfifo(out().c_str(), 0600), 0);
  EXPECT_THAT(expect_error(ErrorCode::kIo, out(), [&] { read_regular_file(out()); }), HasSubstr("regular"));
  expect_error(ErrorCode::kIo, "/dev/zero", [&] { read_regular_file("/dev/zero"); });
  put(folder_ / "plain", "text");
  EXPECT_EQ(read_regular_file(folder_ / "plain"), "text");
}

// --- locks ---

TEST_F(OutputFileTest, AFolderBelongsToOneAtATime) {
  std::optional<FileLock> first = FileLock::acquire(folder_.path());
  EXPECT_THAT(expect_error(ErrorCode::kIo, folder_.path(), [&] { FileLock::acquire(folder_.path()); }),
              HasSubstr("another process"));
  EXPECT_FALSE(FileLock::try_acquire(folder_.path()).has_value());
  first.reset();
  EXPECT_TRUE(FileLock::try_acquire(folder_.path()).has_value());
}

TEST_F(OutputFileTest, ALockEndsWithTheProcessThatHeldIt) {
  const pid_t child = ::fork();
  if (child == 0) {
    const FileLock held = FileLock::acquire(folder_.path());
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  FileLock::acquire(folder_.path());
}

/// The program's own files are in folders that may come from a stranger.
TEST(WriteFile, WritesThroughNothing) {
  testing::TemporaryFolder folder;
  write_file(folder / "kept", "as it was");
  std::filesystem::create_symlink("kept", folder / "link");
  std::filesystem::create_symlink("nowhere", folder / "dangling");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const char* name : {"link", "dangling", "pipe"})
    EXPECT_THAT(expect_error(ErrorCode::kIo, folder / name, [&] { write_file(folder / name, "new"); }),
                HasSubstr("is in the way: it is a link, a pipe or a device"));
  EXPECT_EQ(read_file(folder / "kept"), "as it was");
  EXPECT_FALSE(std::filesystem::exists(folder / "nowhere"));
  write_named_file(folder / "link", "new");
  EXPECT_EQ(read_file(folder / "kept"), "new") << "a name that the user gave";
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
}

/// An archive of a stranger can bring such notes.
TEST_F(OutputFileTest, NotesOfLinesThatAreNotThereTakeNoTime) {
  put(partial(), "a\nb\nc\n");
  std::string record = "{}\n1\n2\n";
  for (int i = 0; i < 20'000; ++i) record += "9\n";
  put(folder_ / "out.partial.job", record);
  int calls = 0;
  const auto vouched = [&](const std::vector<std::string>& notes) {
    ++calls;
    return notes.empty() ? std::uint64_t{0} : std::stoull(notes.back());
  };
  const OutputFile file(out(), {.partial = PartialPolicy::kResume, .identity = "{}", .vouched = vouched});
  EXPECT_EQ(file.lines_kept(), 2U);
  EXPECT_LT(calls, 30);
}

/// The system ends a name at U+0000, which YAML can write.
TEST_F(OutputFileTest, ANameWithANulIsRefused) {
  const std::filesystem::path file = folder_ / "precious";
  core::write_file(file, "precious");
  const std::filesystem::path name(file.string() + std::string(1, '\0') + "x");
  EXPECT_THROW(core::OutputFile(name, {.partial = core::PartialPolicy::kReplace}), core::Error);
  EXPECT_THROW(core::InputFile{name}, core::Error);
  EXPECT_THROW(core::resolve_folder(name), core::Error);
  EXPECT_EQ(core::read_file(file), "precious");
}

}  // namespace
}  // namespace dragoman::core

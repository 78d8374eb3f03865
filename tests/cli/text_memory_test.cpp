// The memory that commands take for texts that a small file unpacks to, and for very long lines.
#include "program.h"

#include <sys/resource.h>

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMeasuresMemory = false;  // sanitizers need memory of their own
#else
constexpr bool kMeasuresMemory = true;
#endif

/// A run of the program, and the most memory that it had at a time.
struct MeasuredRun {
  int status = 0;
  double megabytes = 0;
};

class TextMemory : public ::testing::Test {
 protected:
  MeasuredRun run(const std::string& arguments) const {
    const std::string command =
        "cd '" + folder_.path().string() + "' && exec '" + built("program") + "' 2>stderr.txt >stdout.txt " + arguments;
    const pid_t child = ::fork();
    if (child == 0) {
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    rusage usage{};
    ::wait4(child, &status, 0, &usage);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, static_cast<double>(usage.ru_maxrss) / 1024};
  }
  std::string output() const { return file_content(folder_.path() / "stdout.txt"); }
  std::string error() const { return file_content(folder_.path() / "stderr.txt"); }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
    return folder_.path() / name;
  }
  /// Writes a gzip file of equal lines, which has a thousandth of their size.
  void write_packed(const std::string& name, const std::string& line, std::size_t lines) const {
    const std::string command = "yes '" + line + "' | head -n " + std::to_string(lines) + " | gzip -1 >'" +
                                (folder_.path() / name).string() + "'";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  /// Runs a command on a line of `size` bytes and on a short one. Returns the memory for each byte of the long one.
  double bytes_for_each(const std::string& arguments, const std::string& line) const {
    write("text", "a b\n");
    const MeasuredRun before = run(arguments);
    EXPECT_EQ(before.status, 0) << arguments << error();
    write("text", line + "\n");
    const MeasuredRun after = run(arguments);
    EXPECT_EQ(after.status, 0) << arguments << error();
    return (after.megabytes - before.megabytes) * 1048576 / static_cast<double>(line.size());
  }

  TemporaryFolder folder_;
};

TEST_F(TextMemory, EvaluateReadsLineByLine) {
  if (!kMeasuresMemory) GTEST_SKIP();
  write_packed("one.gz", "a cat on a mat", 1);
  write_packed("many.gz", "a cat on a mat", 300'000);
  const MeasuredRun one = run("evaluate one.gz --reference one.gz --score-only");
  const MeasuredRun many = run("evaluate many.gz --reference many.gz --score-only");
  EXPECT_EQ(many.status, 0) << error();
  EXPECT_EQ(output(), "100.0\n");
  EXPECT_LT(many.megabytes - one.megabytes, 12);
}

TEST_F(TextMemory, TuneHasALimit) {
  std::filesystem::copy(source_folder() / "examples/multi30k/model", folder_.path() / "model");
  write_packed("many.gz", "", 1'000'001);
  EXPECT_EQ(run("tune -m model many.gz many.gz").status, 1);
  EXPECT_THAT(error(), AllOf(HasSubstr("many.gz: line 1000001: "), HasSubstr("at most 1000000 lines"),
                             HasSubstr("268435456 bytes; take a part of it")));
}

TEST_F(TextMemory, LongLinesTakeAFewDozenBytesForEach) {
  if (!kMeasuresMemory) GTEST_SKIP();
  const std::string bpe = (source_folder() / "examples/multi30k/model/tokenizer.json").string();
  const std::string unigram = (source_folder() / "tests/tokenizer/golden/learned_unigram_bytes.model").string();
  const std::string word(4'000'000, 'a');
  EXPECT_LT(bytes_for_each("encode -t '" + bpe + "' text -o /dev/null", word), 26);
  EXPECT_LT(bytes_for_each("encode -t '" + unigram + "' text -o /dev/null", word), 36);
  EXPECT_LT(bytes_for_each("verify '" + bpe + "' '" + bpe + "' text", word), 45);
  EXPECT_LT(bytes_for_each("inspect '" + bpe + "' --corpus text", word), 86);
  EXPECT_LT(bytes_for_each("inspect '" + unigram + "' --corpus text", word), 86);
}

TEST_F(TextMemory, ALineForWhichThereIsNoMemoryIsNamed) {
  if (!kMeasuresMemory) GTEST_SKIP();
  const std::string bpe = (source_folder() / "examples/multi30k/model/tokenizer.json").string();
  write("text", "one\n" + std::string(30'000'000, 'a') + "\n");
  for (const std::string& command : {"encode -o /dev/null -t '" + bpe + "' text", "inspect '" + bpe + "' --corpus text",
                                     "verify '" + bpe + "' '" + bpe + "' text"}) {
    // The reader of lines needs less, and the encoder more.
    const std::string limited = "cd '" + folder_.path().string() + "' && ulimit -v 500000 && OMP_NUM_THREADS=1 exec '" +
                                built("program") + "' " + command + " 2>stderr.txt >stdout.txt";
    EXPECT_NE(std::system(limited.c_str()), 0) << command;
    EXPECT_THAT(error(), HasSubstr("text: line 2: out of memory for a line of 30000000 bytes")) << command;
  }
}

}  // namespace
}  // namespace dragoman::testing

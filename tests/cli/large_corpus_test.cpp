#include "program.h"

#include <sys/resource.h>

#include <random>

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t kMegabyte = 1'000'000;

class LargeCorpusTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  /// Runs it and expects success; its standard output.
  std::string run(const std::string& arguments) {
    const Outcome outcome = run_dragoman(folder_.path(), arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << "\n" << outcome.error;
    return outcome.output;
  }
  void expect_complaint(const std::string& arguments, int status, const ::testing::Matcher<std::string>& says) {
    const Outcome outcome = run_dragoman(folder_.path(), arguments);
    EXPECT_EQ(outcome.status, status) << arguments << "\n" << outcome.error;
    EXPECT_THAT(outcome.error, says) << arguments;
  }
  std::string content(const std::string& name) { return file_content(folder_ / name); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }
  /// Random numbers in base 26: nearly every word is new, so that tables grow as fast as they can.
  void write_new_words(const std::string& name, std::uint64_t bytes, unsigned seed) {
    std::ofstream out(folder_ / name, std::ios::binary);
    std::mt19937_64 random(seed);
    std::string block;
    for (std::uint64_t written = 0; written < bytes; written += block.size()) {
      block.clear();
      while (block.size() < kMegabyte) {
        std::uint64_t number = random() % 20'000'000;
        for (; number > 0; number /= 26) block += static_cast<char>('a' + number % 26);
        block += block.size() % 9 == 0 ? '\n' : ' ';
      }
      out << block;
    }
  }
  /// The most memory that a run of the program had, in bytes.
  std::uint64_t peak_of(const std::vector<std::string>& arguments) {
    std::string program = built("program");
    std::vector<char*> argv{program.data()};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::chdir(folder_.path().c_str()) == 0) ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    int status = 0;
    rusage usage{};
    ::wait4(child, &status, 0, &usage);
    EXPECT_EQ(status, 0) << arguments.front();
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  }

  TemporaryFolder folder_;
};

TEST_F(LargeCorpusTest, CountsAreWrittenInOrderAndLearnedFrom) {
  write("text.txt", "b a\tc b\r\nabc b abc\n");
  EXPECT_EQ(run("count-words --quiet --input text.txt"), "1\ta\tc\n2\tabc\n3\tb\n");
  EXPECT_EQ(run("count-words --quiet --min-count 3 < text.txt --input -"), "3\tb\n");
  run("count-words --quiet text.txt --output text.counts");
  run("learn-bpe --quiet --input text.txt --vocab-size 270 --output text.json");
  run("learn-bpe --quiet --counts text.counts --vocab-size 270 --output counts.json");
  EXPECT_EQ(content("text.json"), content("counts.json"));
  run("learn-bpe --quiet --counts text.counts text.counts --vocab-size 270 --output twice.json");
  run("learn-bpe --quiet --input text.txt text.txt --vocab-size 270 --output text2.json");
  EXPECT_EQ(content("twice.json"), content("text2.json"));
}

TEST_F(LargeCorpusTest, CompressedTextsAndPatternsAreTheSameWords) {
  write("a.txt", "one two three\n");
  write("b.txt", "two three\n");
  ASSERT_EQ(
      std::system(
          ("cd '" + folder_.path().string() + "' && gzip -k a.txt && zstd -q b.txt && cat a.txt b.txt > all").c_str()),
      0);
  const std::string expected = run("count-words --quiet --input all");
  EXPECT_EQ(run("count-words --quiet --input a.txt.gz b.txt.zst"), expected);
  EXPECT_EQ(run("count-words --quiet --input '*.txt'"), expected);
  EXPECT_EQ(run("count-words --quiet --input 'a.*.gz' 'b.txt.[z]st'"), expected);
  write("odd[1].txt", "four\n");
  EXPECT_EQ(run("count-words --quiet --input 'odd[1].txt'"), "1\tfour\n")
      << "a file of that name goes before the pattern";
  expect_complaint("count-words --input '*.nothing'", 1, AllOf(HasSubstr("*.nothing"), HasSubstr("no file matches")));
  expect_complaint("learn-bpe --input '*.nothing' --output t.json", 1, HasSubstr("no file matches"));
}

TEST_F(LargeCorpusTest, TheScriptOfTheManualMergesCounts) {
  const std::string manual = file_content(source_folder() / "docs" / "guides" / "tokenizer.md");
  const std::size_t begin = manual.find("export LC_ALL=C\nsort -m");
  ASSERT_NE(begin, std::string::npos);
  write("reduce.sh", manual.substr(begin, manual.find("```", begin) - begin));
  write("a.txt", "the river the\tbank Zürich \xFF end\n");
  write("b.txt", "the bank the\tbank a river\n");
  write("all.txt", content("a.txt") + content("b.txt"));
  for (const std::string part : {"a", "b"})
    run("count-words --quiet --input " + part + ".txt --output shard-" + part + ".counts");
  ASSERT_EQ(std::system(("cd '" + folder_.path().string() + "' && sh reduce.sh").c_str()), 0);
  EXPECT_EQ(content("corpus.counts"), run("count-words --quiet --input all.txt"));
  EXPECT_EQ(content("corpus.counts"), run("count-words --quiet --counts 'shard-*.counts'"));
}

TEST_F(LargeCorpusTest, WrongUsageIsRefused) {
  write("t", "a b\n");
  expect_complaint("learn-bpe --input t --counts t --output o", 2, HasSubstr("either --input or --counts"));
  expect_complaint("learn-bpe --output o", 2, HasSubstr("either --input or --counts"));
  expect_complaint("count-words", 2, HasSubstr("either --input or --counts"));
  for (const char* size : {"500", "2G", "1.5GB", "-1GB", "0GB", "GB", "1 GB", "1gb", "99999999999TB", "1GBx"})
    expect_complaint("count-words --input t --memory '" + std::string(size) + "'", 2,
                     AllOf(HasSubstr("--memory"), HasSubstr(size)));
  expect_complaint("count-words --input t --memory 1kB --threads 1", 1, HasSubstr("at least"));
  expect_complaint("learn-bpe --counts t --output o", 1, HasSubstr("t: line 1: "));
}

TEST_F(LargeCorpusTest, TheBudgetIsKeptAndTheResultTheSame) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes memory of its own";
#endif
  constexpr std::uint64_t kBudget = 80 * kMegabyte;
  write_new_words("text", 50 * kMegabyte, 1);
  write_new_words("more", 50 * kMegabyte, 2);
  const std::uint64_t free = peak_of({"count-words", "--quiet", "-i", "text", "more", "-o", "free", "--threads", "2"});
  EXPECT_GT(free, 4 * kBudget) << "the corpus is too small to show anything";
  EXPECT_LE(
      peak_of({"count-words", "--quiet", "-i", "text", "more", "-o", "kept", "--threads", "2", "--memory", "80MB"}),
      kBudget);
  ASSERT_EQ(std::system(("cmp '" + (folder_ / "free").string() + "' '" + (folder_ / "kept").string() + "'").c_str()),
            0);
  EXPECT_LE(peak_of({"learn-bpe", "--quiet", "--counts", "kept", "-o", "kept.json", "--threads", "2", "--memory",
                     "80MB", "--min-word-count", "5", "--vocab-size", "1000"}),
            kBudget);
  peak_of({"learn-bpe", "--quiet", "-i", "text", "more", "-o", "free.json", "--min-word-count", "5", "--vocab-size",
           "1000"});
  EXPECT_EQ(content("kept.json"), content("free.json"));
  expect_complaint("learn-bpe --quiet --counts kept -o t.json --memory 80MB --threads 1", 1,
                   AllOf(HasSubstr("the budget is 80MB"), HasSubstr("--min-word-count")));
  EXPECT_EQ(files(), 8U) << "text, more, free, kept, their two vocabularies, two logs: nothing else may be left";
}

TEST_F(LargeCorpusTest, TemporaryFilesThatCannotBeWrittenAreAnError) {
  write_new_words("text", 30 * kMegabyte, 3);
  const std::string count = "count-words --quiet --input text --output counts --memory 80MB --threads 1";
  ::setenv("TMPDIR", "/nonexistent", 1);
  const Outcome missing = run_dragoman(folder_.path(), count);
  ::unsetenv("TMPDIR");
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.error, AllOf(HasSubstr("/nonexistent"), HasSubstr("TMPDIR")));
  // What a full disk does, without one: no file may grow over a megabyte.
  const std::string limited = "cd '" + folder_.path().string() + "' && bash -c \"ulimit -f 1024; trap '' XFSZ; exec '" +
                              built("program") + "' " + count + "\" 2> stderr.txt";
  EXPECT_NE(std::system(limited.c_str()), 0);
  EXPECT_THAT(content("stderr.txt"), AllOf(HasSubstr("cannot write temporary words"), HasSubstr("make room")));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_EQ(entry.path().filename().string().find("dragoman-words"), std::string::npos) << entry.path();
  expect_complaint("count-words --quiet --input text --output /dev/full", 1, HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace dragoman::testing

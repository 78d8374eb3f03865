#include "program.h"

#include <cstdlib>

#include <gmock/gmock.h>

namespace dragoman::testing {
namespace {

using ::testing::HasSubstr;

/// Commands read the text that is piped to them if no input is named.
class PipedInputTest : public ::testing::Test {
 protected:
  PipedInputTest() {
    write("text.txt", "abc abd abc abd abe abc\nabf abc\n");
    write("other.txt", "xyz xyz\n");
    write("pairs.tsv", "Zwei Hunde.\tTwo dogs.\nEin Mann schläft.\tA man is sleeping.\n");
    write("links", "0-0 1-1\n0-0 1-1 2-3\n");
    EXPECT_EQ(run("learn-bpe text.txt --vocab-size 269 --output t.json").status, 0);
  }
  void write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  Outcome run(const std::string& arguments) { return run_dragoman(folder_.path(), arguments + " --quiet"); }
  std::string content(const std::string& name) { return file_content(folder_ / name); }

  /// A command line with a place for its input: what the input is when it is named, and what is piped otherwise.
  struct Reader {
    std::string before;
    std::string input;
  };
  const std::string model_ = " --model '" + in_source("examples/multi30k/model") + "' ";
  const std::vector<Reader> readers_ = {
      {"count-words", "text.txt"},
      {"learn-bpe --vocab-size 266 --output /dev/stdout", "--input text.txt"},
      {"learn-unigram --vocab-size 268 --output /dev/stdout", "--input text.txt"},
      {"verify t.json t.json", "text.txt"},
      {"vocab prune t.json --output /dev/stdout", "--corpus text.txt"},
      {"vocab extend t.json --size 270 --output /dev/stdout", "--corpus text.txt"},
      {"align" + model_ + "--input-format tsv", "pairs.tsv"},
      {"shortlist" + model_ + "--input-format tsv --alignments links", "pairs.tsv"},
      {"encode --tokenizer t.json", "text.txt"},
      {"detect", "text.txt"},
      {"embed" + model_ + "--format jsonl", "text.txt"},
      {"translate" + model_ + "--beam-size 1", "text.txt"},
      {"evaluate --reference text.txt", "--hypothesis text.txt"},
  };
  static std::string file_of(const std::string& input) { return input.substr(input.rfind(' ') + 1); }

  TemporaryFolder folder_;
};

TEST_F(PipedInputTest, IsReadAsTheFileOfThatNameWouldBe) {
  for (const Reader& reader : readers_) {
    const Outcome named = run(reader.before + " " + reader.input);
    ASSERT_EQ(named.status, 0) << reader.before << ": " << named.error;
    ASSERT_NE(named.output, "") << reader.before;
    const Outcome redirected = run(reader.before + " <" + file_of(reader.input));
    EXPECT_EQ(redirected.status, 0) << reader.before << ": " << redirected.error;
    EXPECT_EQ(redirected.output, named.output) << reader.before;
    // The shell passes a here-document through a pipe.
    const Outcome piped =
        run_dragoman(folder_.path(), reader.before + " --quiet <<'END'\n" + content(file_of(reader.input)) + "END\n");
    EXPECT_EQ(piped.output, named.output) << reader.before << ": " << piped.error;
  }
}

TEST_F(PipedInputTest, DoesNotReplaceAnInputThatIsNamed) {
  for (const Reader& reader : readers_) {
    const std::string named = run(reader.before + " " + reader.input + " </dev/null").output;
    EXPECT_EQ(run(reader.before + " " + reader.input + " <other.txt").output, named) << reader.before;
  }
  ASSERT_EQ(run("count-words text.txt --output counts").status, 0);
  EXPECT_EQ(run("count-words --counts counts <other.txt").output, content("counts"));
  EXPECT_EQ(run("learn-bpe --counts counts --vocab-size 266 --output /dev/stdout <other.txt").output,
            run("learn-bpe text.txt --vocab-size 266 --output /dev/stdout").output);
  EXPECT_EQ(run("learn-unigram --counts counts --vocab-size 268 --output /dev/stdout <other.txt").output,
            run("learn-unigram text.txt --vocab-size 268 --output /dev/stdout").output);
  EXPECT_EQ(run("vocab extend t.json --special '<x>' --output /dev/stdout <other.txt").output,
            run("vocab extend t.json --special '<x>' --output /dev/stdout </dev/null").output);
}

/// Neither a terminal nor /dev/null, where batch systems put it, is text that somebody has piped.
TEST_F(PipedInputTest, IsNoTerminalAndNoDevice) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::grantpt(terminal), 0);
  ASSERT_EQ(::unlockpt(terminal), 0);
  for (const std::string& device : {std::string("/dev/null"), std::string(::ptsname(terminal))}) {
    for (const char* command : {"count-words", "learn-bpe --output o", "learn-unigram --output o"}) {
      const Outcome outcome = run(std::string(command) + " <" + device);
      EXPECT_EQ(outcome.status, 2) << command << " <" << device;
      EXPECT_THAT(outcome.error, HasSubstr("needs either --input or --counts, or text that is piped to it"));
    }
    EXPECT_THAT(run("verify t.json t.json <" + device).error, HasSubstr("text that is piped to it"));
    EXPECT_THAT(run("vocab prune t.json --output o <" + device).error, HasSubstr("text that is piped to it"));
    EXPECT_THAT(run("align" + model_ + "--input-format tsv <" + device).error, HasSubstr("pipe them to the command"));
  }
  ::close(terminal);
}

TEST_F(PipedInputTest, IsNoneOfTwoFilesOfLines) {
  const Outcome outcome = run("align" + model_ + "<text.txt");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.error, HasSubstr("name a file of source lines and one of target lines"));
  EXPECT_THAT(run("count-words text.txt --counts counts").error, HasSubstr("not both"));
  EXPECT_THAT(run("prepare <pairs.tsv").error, HasSubstr("--tsv -"));
}

}  // namespace
}  // namespace dragoman::testing

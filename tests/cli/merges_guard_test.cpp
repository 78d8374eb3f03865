#include "program.h"

#include <gmock/gmock.h>

#include <dragoman/core/file.h>

namespace dragoman::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// `convert -o vocab.json` also writes merges.txt, which the user does not name.
class MergesGuard : public ::testing::Test {
 protected:
  MergesGuard() {
    for (const char* file : {"gpt2.vocab.json", "gpt2.merges.txt"})
      fs::copy(source_folder() / "tests/tokenizer/golden" / file, folder_ / file);
  }
  Outcome convert(const std::string& arguments) const { return run_dragoman(folder_.path(), "convert " + arguments); }
  /// Checks that a conversion is refused because of the file, and leaves it as it was.
  void expect_refusal(const std::string& arguments, const std::string& file, const std::string& reason) const {
    const std::string before = core::read_file(folder_ / file);
    const Outcome outcome = convert(arguments);
    EXPECT_NE(outcome.status, 0) << arguments;
    EXPECT_THAT(outcome.error, AllOf(HasSubstr(file), HasSubstr(reason))) << arguments;
    EXPECT_EQ(core::read_file(folder_ / file), before) << arguments;
  }

  TemporaryFolder folder_;
};

TEST_F(MergesGuard, MergesThatBelongToNoVocabularyAreKept) {
  core::write_file(folder_ / "merges.txt", "precious\n");
  expect_refusal("gpt2.vocab.json -o vocab.json", "merges.txt", "vocab.json, which does not exist yet");
  EXPECT_FALSE(fs::exists(folder_ / "vocab.json"));
  core::write_file(folder_ / "a-merges.txt", "precious\n");
  expect_refusal("gpt2.vocab.json -o a-vocab.json", "a-merges.txt", "a-vocab.json, which does not exist yet");
}

TEST_F(MergesGuard, APairIsReplaced) {
  core::write_file(folder_ / "merges.txt", "old\n");
  core::write_file(folder_ / "vocab.json", "old\n");
  const Outcome outcome = convert("gpt2.vocab.json -o vocab.json");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(core::read_file(folder_ / "merges.txt"), HasSubstr("#version"));
  EXPECT_EQ(convert("gpt2.vocab.json -o vocab.json").status, 0) << "again";
}

TEST_F(MergesGuard, ALinkIsNotFollowed) {
  core::write_file(folder_ / "target", "precious\n");
  fs::create_symlink("target", folder_ / "merges.txt");
  for (const bool has_vocabulary : {false, true}) {
    if (has_vocabulary) core::write_file(folder_ / "vocab.json", "old\n");
    expect_refusal("gpt2.vocab.json -o vocab.json", "merges.txt", "is a link");
    EXPECT_TRUE(fs::is_symlink(folder_ / "merges.txt"));
    EXPECT_EQ(core::read_file(folder_ / "target"), "precious\n");
  }
  fs::remove(folder_ / "target");
  EXPECT_THAT(convert("gpt2.vocab.json -o vocab.json").error, HasSubstr("is a link")) << "also if it leads nowhere";
  EXPECT_FALSE(fs::exists(folder_ / "target"));
}

TEST_F(MergesGuard, MergesThatAreReadAreKept) {
  // Codes of subword-nmt, and the merges of a vocabulary that has no prefix.
  fs::copy(source_folder() / "tests/tokenizer/golden/gpt2.merges.txt", folder_ / "merges.txt");
  fs::copy(folder_ / "gpt2.vocab.json", folder_ / "words.json");
  core::write_file(folder_ / "vocab.json", "old\n");
  expect_refusal("words.json -o vocab.json", "merges.txt", "is the input");
  expect_refusal("words.json --from gpt2 -o vocab.json", "merges.txt", "is the input");
  expect_refusal("merges.txt --from subword-nmt --to gpt2 -o vocab.json", "merges.txt", "is the input");
  EXPECT_EQ(core::read_file(folder_ / "vocab.json"), "old\n");
}

}  // namespace
}  // namespace dragoman::testing

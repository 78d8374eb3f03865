#include "golden.h"

#include <sys/stat.h>

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/core/json.h>
#include <dragoman/evaluation/mecab_tokenizer.h>

namespace dragoman::testing {
namespace {

using evaluation::OtherBleuTokenizer;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Dragoman is built without MeCab's library and dictionary.
class MecabTokenizer : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      mecab_ = evaluation::make_mecab_tokenizer();
    } catch (const core::Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  OtherBleuTokenizer mecab_;
  /// What sacreBLEU said, see golden/make_mecab.py.
  const core::Json golden_ = core::load_json(golden_file("mecab.json").string());
};

std::vector<std::string> words_of(const OtherBleuTokenizer& tokenizer, const std::string& text) {
  return evaluation::tokenize(tokenizer.separate(text), evaluation::BleuTokenizer::kNone);
}

TEST_F(MecabTokenizer, CutsAsSacrebleuDoes) {
  for (const core::Json& line : golden_["lines"])
    EXPECT_EQ(words_of(mecab_, line[0].get<std::string>()), line[1].get<std::vector<std::string>>()) << line[0];
}

TEST_F(MecabTokenizer, GivesTheBleuOfSacrebleu) {
  const std::vector<std::string> hypotheses = golden_["hypotheses"];
  const Streams references{golden_["references"]};
  const evaluation::Score score = evaluation::corpus_bleu(hypotheses, references, {.other_tokenizer = mecab_});
  EXPECT_NEAR(score.value, golden_["bleu"].get<double>(), 1e-9);
  EXPECT_THAT(score.signature, HasSubstr("|tok:ja-mecab-0.996-"));
}

TEST_F(MecabTokenizer, ServesManyThreads) {
  std::atomic<int> differing = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (const core::Json& line : golden_["lines"])
        if (words_of(mecab_, line[0].get<std::string>()) != line[1].get<std::vector<std::string>>()) ++differing;
    });
  threads.clear();
  EXPECT_EQ(differing, 0);
}

TEST_F(MecabTokenizer, ASegmentThatIsTooLongIsRefused) {
  const std::string words(std::size_t{1} << 14, 'x');
  EXPECT_EQ(evaluation::tokenize(mecab_.separate(words), evaluation::BleuTokenizer::kCharacter).size(), words.size());
  try {
    mecab_.separate(words + 'x');
    FAIL() << "more than MeCab takes";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("16385 bytes is too long"));
  }
}

TEST_F(MecabTokenizer, WhiteSpaceOfAnyLengthSeparates) {
  EXPECT_EQ(words_of(mecab_, "猫" + std::string(16'000, ' ') + "犬"), (std::vector<std::string>{"猫", "犬"}));
}

TEST_F(MecabTokenizer, AFolderWithoutADictionaryIsNamed) {
  const TemporaryFolder folder;
  const std::string path = folder.path();
  for (const std::string& dictionary : {path, path + "/missing"}) try {
      evaluation::make_mecab_tokenizer(dictionary);
      FAIL() << dictionary;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::kIo);
      EXPECT_THAT(error.what(), StartsWith(dictionary + ": is not a folder with a dictionary of MeCab"));
    }
}

/// MeCab would wait for a writer.
TEST_F(MecabTokenizer, APipeInThePlaceOfAnyFileIsRefusedAtOnce) {
  for (const char* const name : {"dicrc", "sys.dic", "unk.dic", "matrix.bin", "char.bin"}) {
    const TemporaryFolder folder;
    for (const auto& file : std::filesystem::directory_iterator(evaluation::kDebianIpaDictionary))
      if (file.path().filename() != name)
        std::filesystem::create_symlink(file.path(), folder / file.path().filename().string());
    ASSERT_EQ(::mkfifo((folder / name).c_str(), 0600), 0);
    try {
      evaluation::make_mecab_tokenizer(folder.path());
      FAIL() << name;
    } catch (const core::Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string("it has no file ") + name));
    }
  }
}

}  // namespace
}  // namespace dragoman::testing

#include "tokenizer_test_support.h"

#include <gtest/gtest.h>

#include <dragoman/core/json.h>
#include <dragoman/core/options.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>

namespace dragoman::tokenizer {
namespace {

/// golden/make_golden.py wrote what Hugging Face tokenizers makes of the tokenizer files beside it.
class HuggingFace : public ::testing::TestWithParam<const char*> {
 protected:
  BpeTokenizer load() const {
    return BpeTokenizer::load(testing::golden_file(std::string(GetParam()) + ".tokenizer.json"));
  }
  core::Json rows() const {
    const core::Json golden = core::load_json(testing::golden_file("huggingface.json").string());
    for (const core::Json& file : golden["files"])
      if (file["name"] == GetParam()) return file["rows"];
    return {};
  }
};

TEST_P(HuggingFace, SameIds) {
  const BpeTokenizer tokenizer = load();
  const core::Json golden = rows();
  ASSERT_GT(golden.size(), 80U);
  for (const core::Json& row : golden)
    EXPECT_EQ(tokenizer.encode(row["text"].get<std::string>()), row["ids"].get<std::vector<std::int32_t>>())
        << row["text"];
}

TEST_P(HuggingFace, SameIdsWithSpecialTokensMatched) {
  const BpeTokenizer tokenizer = load();
  EncodeOptions options;
  options.match_special_tokens = true;
  for (const core::Json& row : rows())
    EXPECT_EQ(tokenizer.encode(row["text"].get<std::string>(), options),
              row["ids_with_special"].get<std::vector<std::int32_t>>())
        << row["text"];
}

TEST_P(HuggingFace, SameDecodedText) {
  const BpeTokenizer tokenizer = load();
  for (const core::Json& row : rows())
    EXPECT_EQ(tokenizer.decode(row["ids"].get<std::vector<std::int32_t>>()), row["decoded"].get<std::string>())
        << row["text"];
}

TEST_P(HuggingFace, WritesTheFileThatItRead) {
  EXPECT_EQ(load().to_json(), core::read_file(testing::golden_file(std::string(GetParam()) + ".tokenizer.json")));
}

INSTANTIATE_TEST_SUITE_P(Files, HuggingFace, ::testing::Values("default", "nfkc", "nfc"));

TEST(GoldenVocabulary, LearningAgainGivesTheSameFile) {
  LearnOptions options;
  options.vocab_size = 640;
  options.escape_marks = false;
  const std::string learned = learn_bpe({testing::golden_file("corpus.txt")}, options).to_json();
  EXPECT_EQ(learned, core::read_file(testing::golden_file("default.tokenizer.json")));
}

}  // namespace
}  // namespace dragoman::tokenizer

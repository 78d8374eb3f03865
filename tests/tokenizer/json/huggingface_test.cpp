#include "test_data.h"
#include "test_names.h"
#include "tokenizer_test_support.h"

#include <gtest/gtest.h>

#include <dragoman/core/file.h>
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

INSTANTIATE_TEST_SUITE_P(Files, HuggingFace, ::testing::Values("default", "nfkc", "nfc"),
                         dragoman::testing::kParameterName);

/// The ids of tokenizers 0.23.3: a word is looked up without the suffix.
TEST(IgnoredMerges, LookWordsUpWithoutTheSuffix) {
  const testing::TemporaryFolder folder;
  core::write_file(folder / "t.json", R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [
    {"id": 0, "content": "<unk>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
     "special": true}], "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null,
    "decoder": {"type": "BPEDecoder", "suffix": "</w>"}, "model": {"type": "BPE", "dropout": null,
    "unk_token": "<unk>", "continuing_subword_prefix": null, "end_of_word_suffix": "</w>", "fuse_unk": false,
    "byte_fallback": false, "ignore_merges": true,
    "vocab": {"<unk>": 0, "a": 1, "b": 2, "b</w>": 3, "ab": 4, "ab</w>": 5}, "merges": [["a", "b"], ["a", "b</w>"]]}})");
  EXPECT_EQ(BpeTokenizer::load(folder / "t.json").encode("ab b a"), (std::vector<std::int32_t>{4, 2, 1}));
}

TEST(GoldenVocabulary, LearningAgainGivesTheSameFile) {
  LearnOptions options;
  options.vocab_size = 640;
  options.escape_marks = false;
  const std::string learned = learn_bpe({testing::golden_file("corpus.txt")}, options).to_json();
  EXPECT_EQ(learned, core::read_file(testing::golden_file("default.tokenizer.json")));
}

}  // namespace
}  // namespace dragoman::tokenizer

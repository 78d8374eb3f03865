#include "tokenizer_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/batch_encoding.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> random_texts(std::size_t count) {
  std::mt19937 random(3);
  std::vector<std::string> texts(count);
  for (std::string& text : texts) text = testing::random_text(random, "abcdefgh  ehtrin", 60);
  return texts;
}

TEST(BatchEncoding, GivesTheIdsOfEncodeForAnyNumberOfThreads) {
  const BpeTokenizer tokenizer = learn_bpe({testing::golden_file("corpus.txt")}, {.vocab_size = 500});
  for (const std::size_t count : {0U, 1U, 64U, 1000U})
    for (const int threads : {1, 2, 5})
      for (const EncodeOptions& options :
           {EncodeOptions{}, EncodeOptions{.mode = EncodingMode::kDropout, .dropout = 0.4, .seed = 3, .line = 70}}) {
        const std::vector<std::string> texts = random_texts(count);
        const std::vector<std::string_view> views(texts.begin(), texts.end());
        const auto executor = core::make_executor(threads);
        const EncodedTexts encoded = encode_batch(tokenizer, views, *executor, options);
        ASSERT_EQ(encoded.size(), count);
        EncodeOptions of_text = options;
        for (std::size_t i = 0; i < count; ++i, ++of_text.line) {
          const auto ids = encoded[i];
          ASSERT_EQ(std::vector<std::int32_t>(ids.begin(), ids.end()), tokenizer.encode(texts[i], of_text)) << texts[i];
        }
      }
}

TEST(BatchEncoding, TextsMayBeEmptyAndLieAnywhere) {
  const BpeTokenizer tokenizer = learn_bpe({testing::golden_file("corpus.txt")}, {.vocab_size = 500});
  const std::string buffer("the river\n\n  a\0b  \nthe\n", 23);
  const std::string_view all = buffer;
  const std::vector<std::string_view> texts = {std::string_view(), all.substr(0, 9),  all.substr(10, 0),
                                               all.substr(11, 7),  all.substr(19, 3), std::string_view(),
                                               all.substr(0, 9),   all.substr(8, 9)};
  const auto executor = core::make_executor(1);
  const EncodedTexts encoded = encode_batch(tokenizer, texts, *executor);
  ASSERT_EQ(encoded.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto ids = encoded[i];
    EXPECT_EQ(std::vector<std::int32_t>(ids.begin(), ids.end()), tokenizer.encode(texts[i])) << i;
  }
}

TEST(BatchEncoding, NamesTheFirstTextThatCannotBeEncoded) {
  const BpeTokenizer tokenizer = testing::make_plain_bpe("abc", {{"a", "b"}});
  std::vector<std::string_view> texts(1000, "abc");
  for (const std::size_t wrong : {900U, 301U, 300U}) {
    texts[wrong] = "abz";
    for (const int threads : {1, 4}) {
      const auto executor = core::make_executor(threads);
      try {
        encode_batch(tokenizer, texts, *executor);
        FAIL() << "z is not in the vocabulary";
      } catch (const core::Error& error) {
        EXPECT_EQ(error.code(), core::ErrorCode::kBadInput);
        EXPECT_THAT(error.what(), HasSubstr("text " + std::to_string(wrong) + ": U+007A"));
      }
    }
  }
}

}  // namespace
}  // namespace dragoman::tokenizer

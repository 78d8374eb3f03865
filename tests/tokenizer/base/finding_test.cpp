#include "base/find_text.h"
#include "base/trie.h"
#include "formats_test_support.h"

#include <random>
#include <string>

#include <gmock/gmock.h>

#include <dragoman/core/json.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::HasSubstr;

TEST(FindText, FindsWhatTheStandardLibraryFinds) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    const auto letters = [&](std::size_t most) {
      std::string text(random() % (most + 1), 'a');
      for (char& letter : text) letter = static_cast<char>('a' + random() % 2);
      return text;
    };
    const std::string text = letters(80), pattern = letters(24);
    const std::size_t from = random() % 90;
    ASSERT_EQ(find_text(text, pattern, from), std::string_view(text).find(pattern, from))
        << text << ' ' << pattern << ' ' << from;
  }
  // With the standard library, this takes minutes.
  const std::string text(std::size_t{8} << 20, 'a');
  const std::string pattern = std::string(text.size() / 2, 'a') + "b";
  EXPECT_EQ(find_text(text, pattern), std::string_view::npos);
}

TEST(Trie, HasKeysOfBoundedLength) {
  const std::string longest(Trie::kLongestKey, 'a');
  EXPECT_EQ(Trie({{longest, 3}}).longest_prefix(longest + "a").length, longest.size());
  EXPECT_THAT(testing::error_of([&] { Trie({{longest + "a", 3}}); }), HasSubstr("has 1025 bytes"));
}

/// A long piece would be compared with the text at each place of it.
TEST(LongPieces, AreRefusedWithTheFile) {
  const testing::TemporaryFolder folder;
  const std::string piece(5000, 'a');
  const core::Json scores = core::Json::array({core::Json::array({"<unk>", 0.0}), core::Json::array({piece, -1.0})});
  const core::Json models[] = {{{"type", "Unigram"}, {"unk_id", 0}, {"vocab", scores}, {"byte_fallback", false}},
                               {{"type", "WordPiece"},
                                {"unk_token", "<unk>"},
                                {"continuing_subword_prefix", "##"},
                                {"max_input_chars_per_word", 1000000},
                                {"vocab", {{"<unk>", 0}, {piece, 1}}}}};
  for (const core::Json& model : models) {
    const core::Json file = {{"version", "1.0"},
                             {"truncation", nullptr},
                             {"padding", nullptr},
                             {"added_tokens", core::Json::array()},
                             {"normalizer", nullptr},
                             {"pre_tokenizer", nullptr},
                             {"post_processor", nullptr},
                             {"decoder", nullptr},
                             {"model", model}};
    core::write_file(folder / "tokenizer.json", file.dump());
    EXPECT_THAT(testing::error_of([&] { load_tokenizer(folder / "tokenizer.json"); }),
                ::testing::AllOf(HasSubstr("tokenizer.json: the piece 'aaaa"), HasSubstr("has at most 1024")))
        << model["type"];
  }
}

}  // namespace
}  // namespace dragoman::tokenizer

#include "test_data.h"
#include "tokenizer_test_support.h"

#include <gtest/gtest.h>

#include <dragoman/tokenizer/batch_encoding.h>
#include <dragoman/tokenizer/offsets.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_files.h>
#include <dragoman/tokenizer/vocabulary_editing.h>

// What docs/guides/tokenizer.md shows under "In C++", line by line.
namespace dragoman::tokenizer {
namespace {

std::unique_ptr<Tokenizer> load() {
  return load_tokenizer(testing::golden_file("default.tokenizer.json"));
}

TEST(CppExamples, Streaming) {
  const auto tokenizer = load();
  const std::vector<std::int32_t> generated = tokenizer->encode("naïve 😀 text");
  std::string text;
  const auto decoder = tokenizer->make_decoder();
  for (const std::int32_t id : generated) decoder->decode(id, text);  // appends whole characters
  decoder->finish(text);
  EXPECT_EQ(text, "naïve 😀 text");
}

TEST(CppExamples, Batch) {
  const auto tokenizer = load();
  const auto executor = dragoman::core::make_executor(4);
  const std::vector<std::string_view> texts = {"Zwei Hunde", "spielen."};
  const auto batch = dragoman::tokenizer::encode_batch(*tokenizer, texts, *executor);
  const std::span<const std::int32_t> second = batch[1];
  EXPECT_EQ(tokenizer->decode(second), "spielen.");
}

TEST(CppExamples, Offsets) {
  const auto tokenizer = load();
  const std::string_view text = "Zwei Hunde spielen";
  const auto pieces = tokenizer->encode_pieces(text);
  const auto hunde = dragoman::tokenizer::pieces_of_text(pieces, {5, 10});
  const auto bytes = dragoman::tokenizer::text_of_pieces(pieces, hunde);
  EXPECT_EQ(text.substr(bytes.begin, bytes.end - bytes.begin), "Hunde");
}

TEST(CppExamples, StandInTheDocumentation) {
  const std::string root = testing::source_folder().string();
  const std::string document = core::read_file(root + "/docs/guides/tokenizer.md");
  const std::string here = core::read_file(root + "/tests/tokenizer/cpp_examples_test.cpp");
  for (const std::string first : {"const auto decoder =", "const auto executor =", "const auto pieces ="}) {
    const std::size_t begin = document.find(first);
    ASSERT_NE(begin, std::string::npos) << first;
    std::size_t line = begin;
    for (std::size_t end; document.compare(line, 3, "```") != 0; line = end + 1) {
      end = document.find('\n', line);
      EXPECT_NE(here.find("  " + document.substr(line, end - line) + "\n"), std::string::npos)
          << document.substr(line, end - line);
    }
    EXPECT_GT(line, begin);
  }
}

}  // namespace
}  // namespace dragoman::tokenizer

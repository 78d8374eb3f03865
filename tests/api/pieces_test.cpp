// Requests whose texts and translations are pieces.
#include "error_message.h"
#include "test_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dragoman/dragoman.h>

namespace dragoman {
namespace {

using ::testing::HasSubstr;

std::string line_of_tokens(const std::vector<std::string>& tokens) {
  std::string line;
  for (const std::string& token : tokens) line.append(line.empty() ? "" : " ").append(token);
  return line;
}

TEST(RequestsOfPieces, GiveTheTokensOfTheText) {
  const Model model(testing::in_source("examples/multi30k/model"), {.threads = 2});
  const Translator translator(model);
  const Tokenizer tokenizer(model.source_tokenizer());
  const std::vector<std::string> texts = {"Zwei Hunde spielen im Schnee.", "", "Eine Frau liest ein Buch \u4F60."};
  std::vector<std::string> pieces;
  for (const std::string& text : texts) pieces.push_back(line_of_tokens(tokenizer.tokenize(text)));
  const auto expected = translator.translate_batch(texts, {.n_best = 2});
  const auto found = translator.translate_batch(pieces, {.n_best = 2}, {.input_pieces = true, .output_pieces = true});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(found[i].size(), expected[i].size());
    for (std::size_t n = 0; n < found[i].size(); ++n) {
      EXPECT_EQ(found[i][n].tokens, expected[i][n].tokens);
      EXPECT_EQ(found[i][n].text, line_of_tokens(expected[i][n].tokens));
    }
  }
  EXPECT_EQ(translator.translate(pieces[0], {.input_pieces = true}), expected[0].front().text);
  std::string told;
  const Request watched{.output_pieces = true, .on_partial = [&](std::string_view text) { told = text; }};
  EXPECT_EQ(translator.translate(texts[0], watched), told);
  EXPECT_EQ(told, line_of_tokens(expected[0].front().tokens));
  EXPECT_THAT(
      testing::error_of([&] { translator.translate(pieces[0], {.replace_unknown = true}, {.input_pieces = true}); }),
      HasSubstr("replace_unknown: "));
}

}  // namespace
}  // namespace dragoman

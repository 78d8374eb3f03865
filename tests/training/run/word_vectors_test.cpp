#include "run/word_vectors.h"

#include "error_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::training {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Vectors = std::vector<std::pair<std::string, std::vector<double>>>;

Vectors parse(std::string_view text, std::int64_t width, std::size_t step = 1000) {
  Vectors vectors;
  WordVectorParser parser("v.txt", width, [&](const WordVector& vector) {
    vectors.emplace_back(vector.piece, std::vector<double>(vector.values.begin(), vector.values.end()));
  });
  for (std::size_t begin = 0; begin < text.size(); begin += step) parser.feed(text.substr(begin, step));
  parser.finish();
  return vectors;
}

std::string error_in(std::string_view text, std::int64_t width) {
  return dragoman::testing::error_of([&] { parse(text, width); });
}

/// The first lines of a file that word2vec wrote (a count, spaces at the ends of lines), and of one of GloVe's.
TEST(WordVectors, ReadsWhatWord2VecAndGloVeWrite) {
  EXPECT_THAT(parse("2 3\n</s> 0.001 -0.002 3e-3 \nthe 1 2 3 \n", 3),
              ElementsAre(Pair("</s>", ElementsAre(0.001, -0.002, 0.003)), Pair("the", ElementsAre(1, 2, 3))));
  EXPECT_THAT(parse("the 0.418 0.24968\n, 0.013441 0.23682\n", 2),
              ElementsAre(Pair("the", ElementsAre(0.418, 0.24968)), Pair(",", ElementsAre(0.013441, 0.23682))));
}

TEST(WordVectors, LinesMayEndAsTheyDoElsewhere) {
  const auto both = ElementsAre(Pair("a", ElementsAre(1, 2)), Pair("b", ElementsAre(3, 4)));
  for (const char* text : {"a 1 2\nb 3 4\n", "a 1 2\nb 3 4", "a 1 2\r\nb 3 4\r\n",
                           "\xEF\xBB\xBF"
                           "a 1 2\nb 3 4",
                           "a\t1\t2\nb\t3\t4\n", "2 2\na 1 2\nb 3 4\n"})
    for (const std::size_t step : {1, 3, 100}) EXPECT_THAT(parse(text, 2, step), both) << text;
}

/// Two whole numbers are a header, but a piece and its one number where vectors have one.
TEST(WordVectors, AHeaderIsTwoNumbers) {
  EXPECT_THAT(parse("5 1\n", 1), ElementsAre(Pair("5", ElementsAre(1))));
  EXPECT_THAT(parse("5 1 2\n", 2), ElementsAre(Pair("5", ElementsAre(1, 2))));
  EXPECT_THAT(error_in("3 2\na 1 2\n", 2), AllOf(HasSubstr("3 vectors, but there are 1"), HasSubstr("complete?")));
  EXPECT_THAT(error_in("1 300\n", 2), AllOf(HasSubstr("line 1"), HasSubstr("300"), HasSubstr("the model 2")));
}

TEST(WordVectors, ErrorsNameFileLineAndReason) {
  EXPECT_THAT(error_in("a 1 2\nb 3\n", 2), AllOf(HasSubstr("v.txt: line 2"), HasSubstr("'b' has 1 numbers")));
  EXPECT_THAT(error_in("a 1 2 3\n", 2), AllOf(HasSubstr("line 1"), HasSubstr("has 3 numbers"), HasSubstr("model 2")));
  EXPECT_THAT(error_in("a 1 2\n\nb 3 4\n", 2), AllOf(HasSubstr("line 2"), HasSubstr("no piece")));
  EXPECT_THAT(error_in(" 1 2\n", 2), HasSubstr("no piece"));
  for (const char* number : {"x", "nan", "inf", "-inf", "1e39", "1e999", "1,5", "0x10", "+1"})
    EXPECT_THAT(error_in("a 1 " + std::string(number) + "\n", 2),
                AllOf(HasSubstr("line 1"), HasSubstr("number 2"), HasSubstr(number)));
  EXPECT_THAT(error_in("", 2), HasSubstr("no vectors"));
  EXPECT_THAT(error_in("0 2\n", 2), HasSubstr("no vectors"));
}

/// So that no file takes more memory than a vector.
TEST(WordVectors, ALineIsNoLongerThanAVector) {
  EXPECT_THAT(error_in("a 1 2\n" + std::string(10000, 'b'), 2), AllOf(HasSubstr("line 2"), HasSubstr("longer than")));
  const std::string piece(4000, 'b');
  EXPECT_THAT(parse(piece + " 1 2\n", 2), ElementsAre(Pair(piece, ElementsAre(1, 2))));
}

}  // namespace
}  // namespace dragoman::training

#include "dragoman/tokenizer/words_of_pieces.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dragoman::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;

Ranges words_at(const std::vector<Piece>& pieces, const std::vector<core::TextRange>& words) {
  Ranges result;
  for (const core::TextRange& range : words_of_pieces(pieces, words)) result.emplace_back(range.begin, range.end);
  return result;
}

TEST(WordsOfPieces, AreThoseWhoseBytesAPieceStandsFor) {
  // "ab cd e": a mark before the text; "a"; "b c", a piece of two words; "d"; a space, which goes with "e"; "e"; an
  // end mark.
  EXPECT_THAT(
      words_at({{0, 0, 0}, {0, 0, 1}, {0, 1, 4}, {0, 4, 5}, {0, 5, 6}, {0, 6, 7}, {0, 7, 7}}, {{0, 2}, {3, 5}, {6, 7}}),
      ElementsAre(Pair(0, 1), Pair(0, 1), Pair(0, 2), Pair(1, 2), Pair(2, 3), Pair(2, 3), Pair(2, 3)));
  EXPECT_THAT(words_at({{0, 0, 1}, {0, 1, 2}}, {}), ElementsAre(Pair(0, 0), Pair(0, 0)));
}

}  // namespace
}  // namespace dragoman::tokenizer

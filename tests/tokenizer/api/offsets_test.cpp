#include "tokenizer_test_support.h"

#include <gtest/gtest.h>

#include <dragoman/core/error.h>
#include <dragoman/tokenizer/bpe_tokenizer.h>
#include <dragoman/tokenizer/learn_bpe.h>
#include <dragoman/tokenizer/offsets.h>

namespace dragoman::tokenizer {
namespace {

BpeTokenizer normalising() {
  LearnOptions options{.vocab_size = 500, .user_symbols = {"<ph>"}};
  options.normalization = Normalization::kNfkc;
  options.lowercase = true;
  return learn_bpe({testing::golden_file("corpus.txt")}, options);
}

/// As the contract says it: piece by piece.
std::vector<std::size_t> places_of(const std::vector<Piece>& pieces, Range text) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    std::size_t owner = i;  // whose bytes decide
    while (owner + 1 < pieces.size() && pieces[owner].begin == pieces[owner].end) ++owner;
    while (owner > 0 && pieces[owner].begin == pieces[owner].end) --owner;
    if (pieces[owner].begin < text.end && text.begin < pieces[owner].end) places.push_back(i);
  }
  return places;
}

TEST(PieceOffsets, BothWaysThroughNormalisation) {
  const BpeTokenizer tokenizer = normalising();
  const std::string text = "The \uFB01rst RIVER<ph> e\u0301tait \uFDFA  \U0001F600 ";
  const std::vector<Piece> pieces = tokenizer.encode_pieces(text);
  for (std::size_t begin = 0; begin <= text.size(); ++begin)
    for (std::size_t end = begin; end <= text.size(); ++end) {
      const Range range = pieces_of_text(pieces, {begin, end});
      std::vector<std::size_t> places;
      for (std::size_t i = range.begin; i < range.end; ++i) places.push_back(i);
      ASSERT_TRUE(begin < end || places.empty());
      if (begin == end) continue;
      ASSERT_EQ(places, places_of(pieces, {begin, end})) << begin << " " << end;
      const Range back = text_of_pieces(pieces, range);
      ASSERT_TRUE(back.begin <= begin && end <= back.end) << begin << " " << end;
    }
  for (std::size_t i = 0; i < pieces.size(); ++i)
    ASSERT_EQ(text_of_pieces(pieces, {i, i + 1}), (Range{pieces[i].begin, pieces[i].end}));
  EXPECT_EQ(text_of_pieces(pieces, {0, pieces.size()}), (Range{0, text.size()}));
}

TEST(PieceOffsets, AWordInTheTextIsTheTextOfItsPieces) {
  const BpeTokenizer tokenizer = normalising();
  const std::string text = "\uFB01le hier";
  const std::vector<Piece> pieces = tokenizer.encode_pieces(text);
  const Range of_word = pieces_of_text(pieces, {0, 5});  // the ligature has three bytes
  std::string spelled;
  for (std::size_t i = of_word.begin; i < of_word.end; ++i) spelled += tokenizer.piece(pieces[i].id);
  EXPECT_EQ(spelled, "\u2581file");
  EXPECT_EQ(text_of_pieces(pieces, of_word), (Range{0, 5}));
}

TEST(PieceOffsets, OfNothingAndOutside) {
  const std::vector<Piece> none;
  EXPECT_EQ(pieces_of_text(none, {0, 0}), (Range{0, 0}));
  EXPECT_EQ(text_of_pieces(none, {0, 0}), (Range{0, 0}));
  const std::vector<Piece> one = {{.id = 7, .begin = 0, .end = 3}};
  EXPECT_EQ(pieces_of_text(one, {1, 1}), (Range{0, 0}));
  EXPECT_EQ(pieces_of_text(one, {3, 3}), (Range{1, 1}));
  EXPECT_EQ(text_of_pieces(one, {1, 1}), (Range{3, 3}));
  EXPECT_THROW(pieces_of_text(one, {0, 4}), core::Error);
  EXPECT_THROW(pieces_of_text(one, {2, 1}), core::Error);
  EXPECT_THROW(text_of_pieces(one, {0, 2}), core::Error);
}

TEST(PieceOffsets, PiecesWithoutBytesAtTheEndGoWithTheLast) {
  const std::vector<Piece> pieces = {{.id = 0, .begin = 0, .end = 0},
                                     {.id = 1, .begin = 0, .end = 2},
                                     {.id = 2, .begin = 2, .end = 2},
                                     {.id = 3, .begin = 2, .end = 4},
                                     {.id = 4, .begin = 4, .end = 4}};
  EXPECT_EQ(pieces_of_text(pieces, {0, 1}), (Range{0, 2}));
  EXPECT_EQ(pieces_of_text(pieces, {1, 2}), (Range{0, 2}));
  EXPECT_EQ(pieces_of_text(pieces, {2, 3}), (Range{2, 4}));
  EXPECT_EQ(pieces_of_text(pieces, {3, 4}), (Range{2, 5}));
  EXPECT_EQ(pieces_of_text(pieces, {0, 4}), (Range{0, 5}));
}

}  // namespace
}  // namespace dragoman::tokenizer

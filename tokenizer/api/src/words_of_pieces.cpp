#include "dragoman/tokenizer/words_of_pieces.h"

#include <algorithm>

namespace dragoman::tokenizer {
namespace {

using core::TextRange;

/// Returns the words that contain any of the bytes of a piece.
TextRange touched_words(const Piece& piece, const std::vector<TextRange>& words) {
  const auto begin =
      std::partition_point(words.begin(), words.end(), [&](const TextRange& word) { return word.end <= piece.begin; });
  const auto end =
      std::partition_point(begin, words.end(), [&](const TextRange& word) { return word.begin < piece.end; });
  return {static_cast<std::size_t>(begin - words.begin()), static_cast<std::size_t>(end - words.begin())};
}

}  // namespace

std::vector<TextRange> words_of_pieces(const std::vector<Piece>& pieces, const std::vector<TextRange>& words) {
  std::vector<TextRange> result(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) result[i] = touched_words(pieces[i], words);
  const auto is_empty = [](const TextRange& range) { return range.begin == range.end; };
  for (std::size_t i = pieces.size(); i-- > 0;)
    if (is_empty(result[i]) && i + 1 < pieces.size() && !is_empty(result[i + 1]))
      result[i] = {result[i + 1].begin, result[i + 1].begin + 1};
  for (std::size_t i = 1; i < pieces.size(); ++i)
    if (is_empty(result[i]) && !is_empty(result[i - 1])) result[i] = {result[i - 1].end - 1, result[i - 1].end};
  return result;
}

}  // namespace dragoman::tokenizer

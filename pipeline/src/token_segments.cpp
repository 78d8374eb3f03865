#include "token_segments.h"

#include <algorithm>

namespace dragoman::pipeline {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t';
}

/// A piece after which a cut tears no word: the next piece begins with a blank, or right after one.
bool starts_word(std::string_view text, const tokenizer::Piece& piece) {
  if (piece.begin >= text.size()) return false;
  return is_space(text[piece.begin]) || (piece.begin > 0 && is_space(text[piece.begin - 1]));
}

std::size_t segment_end(std::string_view text, const std::vector<tokenizer::Piece>& pieces, std::size_t begin,
                        std::size_t limit) {
  if (pieces.size() - begin <= limit) return pieces.size();
  for (std::size_t end = begin + limit; end > begin; --end)
    if (starts_word(text, pieces[end])) return end;
  return begin + limit;
}

/// Encodes a text stretch by stretch, since the pieces of all of it at once, with their places and what the tokenizer
/// keeps meanwhile, would take 30 times its size. The pieces are those of the whole text as long as a piece depends on
/// its surroundings less far than a segment reaches: each stretch begins one segment early and ends at a blank, and
/// what stands in its last segment is left to the next.
class SegmentReader {
 public:
  SegmentReader(const tokenizer::Tokenizer& tokenizer, std::string_view text, std::size_t limit)
      : tokenizer_(tokenizer), text_(text), limit_(limit) {}

  std::vector<std::vector<std::int32_t>> read() {
    std::size_t size = kStretch;
    while (!read_stretch(stretch_end(size))) size = advanced_ ? kStretch : 2 * size;
    return std::move(segments_);
  }

 private:
  static constexpr std::size_t kStretch = std::size_t{1} << 20;

  /// The last blank within `size` bytes of the next segment, or the end of the text.
  std::size_t stretch_end(std::size_t size) const {
    if (text_.size() - next_ <= size) return text_.size();
    const std::size_t blank = text_.find_last_of(" \t", next_ + size);
    return blank == std::string_view::npos ? next_ : std::max(blank, next_);
  }

  /// True if that was the rest of the text. Nothing is `advanced_` if the stretch does not hold a whole segment.
  bool read_stretch(std::size_t end) {
    const bool last = end == text_.size();
    const std::size_t origin = context_;
    const std::string_view stretch = text_.substr(origin, end - origin);
    const std::vector<tokenizer::Piece> pieces = tokenizer_.encode_pieces(stretch);
    std::size_t begin = 0;
    const std::size_t done = next_ - origin;
    while (begin < pieces.size() && pieces[begin].begin < done && pieces[begin].end <= done) ++begin;
    advanced_ = false;
    while (begin < pieces.size()) {
      const std::size_t segment = segment_end(stretch, pieces, begin, limit_);
      if (segment == pieces.size() && !last) break;
      std::vector<std::int32_t>& ids = segments_.emplace_back();
      context_ = origin + pieces[begin].begin;
      next_ = segment < pieces.size() ? origin + pieces[segment].begin : end;
      for (; begin < segment; ++begin) ids.push_back(pieces[begin].id);
      advanced_ = true;
    }
    return last;
  }

  const tokenizer::Tokenizer& tokenizer_;
  std::string_view text_;
  std::size_t limit_;
  std::size_t context_ = 0;  ///< where the next stretch begins
  std::size_t next_ = 0;     ///< where its first new segment does
  bool advanced_ = false;
  std::vector<std::vector<std::int32_t>> segments_;
};

}  // namespace

std::vector<std::vector<std::int32_t>> token_segments(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                                                      std::size_t limit) {
  return SegmentReader(tokenizer, text, limit).read();
}

}  // namespace dragoman::pipeline

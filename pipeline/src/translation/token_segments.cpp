#include "token_segments.h"

#include <algorithm>

#include <dragoman/core/white_space.h>

namespace dragoman::pipeline {
namespace {

constexpr std::size_t kWidest = 3;  // maximum number of bytes of a whitespace character

/// Returns whether a cut before piece `i` > 0 is between words: the piece begins with whitespace, or directly after it.
/// All byte pieces of a character begin where the character begins, so no cut is within one.
bool starts_word(std::string_view text, const std::vector<tokenizer::Piece>& pieces, std::size_t i) {
  const std::size_t begin = pieces[i].begin;
  if (begin >= text.size() || pieces[i - 1].begin == begin) return false;
  return core::leading_white_space(text.substr(begin, kWidest)) > 0 ||
         core::trailing_white_space(text.substr(0, begin).substr(begin - std::min(begin, kWidest))) > 0;
}

std::size_t segment_end(std::string_view text, const std::vector<tokenizer::Piece>& pieces, std::size_t begin,
                        std::size_t limit) {
  if (pieces.size() - begin <= limit) return pieces.size();
  for (std::size_t end = begin + limit; end > begin; --end)
    if (starts_word(text, pieces, end)) return end;
  return begin + limit;
}

/// Encodes a text in stretches. The pieces of the whole text, with their positions and the tokenizer's temporary data,
/// would take 30 times its size. The pieces equal the pieces of the whole text if a piece does not depend on text that
/// is farther away than one segment. Each stretch begins one segment early and ends at whitespace. The pieces in its
/// last segment are left to the next stretch.
class SegmentReader {
 public:
  SegmentReader(const tokenizer::Tokenizer& tokenizer, std::string_view text, std::size_t limit, bool with_places)
      : tokenizer_(tokenizer), text_(text), limit_(limit), with_places_(with_places) {}

  std::vector<TokenSegment> read() {
    std::size_t size = kStretch;
    while (!read_stretch(stretch_end(size))) size = advanced_ ? kStretch : 2 * size;
    return std::move(segments_);
  }

 private:
  static constexpr std::size_t kStretch = std::size_t{1} << 20;

  /// Returns the position of the last whitespace within `size` bytes of the next segment, or the end of the text.
  std::size_t stretch_end(std::size_t size) const {
    if (text_.size() - next_ <= size) return text_.size();
    for (std::size_t end = next_ + size; end > next_; --end)
      if (core::leading_white_space(text_.substr(end, kWidest)) > 0) return end;
    return next_;
  }

  /// Returns true if this was the rest of the text. `advanced_` is false if the stretch does not contain a whole
  /// segment.
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
      TokenSegment& made = segments_.emplace_back();
      context_ = origin + pieces[begin].begin;
      made.text.begin = next_;
      next_ = segment < pieces.size() ? origin + pieces[segment].begin : end;
      made.text.end = next_;
      for (; begin < segment; ++begin) {
        made.ids.push_back(pieces[begin].id);
        if (with_places_) made.places.push_back({origin + pieces[begin].begin, origin + pieces[begin].end});
      }
      advanced_ = true;
    }
    return last;
  }

  const tokenizer::Tokenizer& tokenizer_;
  std::string_view text_;
  std::size_t limit_;
  bool with_places_;
  std::size_t context_ = 0;  ///< where the next stretch begins
  std::size_t next_ = 0;     ///< where its first new segment begins
  bool advanced_ = false;
  std::vector<TokenSegment> segments_;
};

/// starts_word() for a line of pieces, by their decoded text. Some pieces before `i` are decoded, too, because special
/// pieces have no text. Some pieces after it are decoded because they may complete a character of several byte pieces.
bool starts_word_as_text(const tokenizer::Tokenizer& tokenizer, const std::vector<tokenizer::Piece>& pieces,
                         std::size_t i) {
  constexpr std::size_t kContext = 8;
  std::vector<std::int32_t> ids;
  for (std::size_t k = i - std::min(i, kContext); k < i; ++k) ids.push_back(pieces[k].id);
  const std::string before = tokenizer.decode(ids);
  for (std::size_t k = i; k < std::min(pieces.size(), i + kWidest); ++k) ids.push_back(pieces[k].id);
  const std::string text = tokenizer.decode(ids);
  if (text.size() <= before.size() || !text.starts_with(before)) return false;
  return core::leading_white_space(std::string_view(text).substr(before.size())) > 0 ||
         core::trailing_white_space(before) > 0;
}

std::size_t end_of_piece_segment(const tokenizer::Tokenizer& tokenizer, const std::vector<tokenizer::Piece>& pieces,
                                 std::size_t begin, std::size_t limit) {
  if (pieces.size() - begin <= limit) return pieces.size();
  for (std::size_t end = begin + limit; end > begin; --end)
    if (starts_word_as_text(tokenizer, pieces, end)) return end;
  return begin + limit;
}

}  // namespace

std::vector<TokenSegment> token_segments(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                                         std::size_t limit, bool with_places) {
  return SegmentReader(tokenizer, text, limit, with_places).read();
}

std::vector<TokenSegment> piece_segments(const tokenizer::Tokenizer& tokenizer,
                                         const std::vector<tokenizer::Piece>& pieces, std::size_t size,
                                         std::size_t limit) {
  std::vector<TokenSegment> segments;
  std::size_t text_end = 0;
  for (std::size_t begin = 0; begin < pieces.size();) {
    const std::size_t end = end_of_piece_segment(tokenizer, pieces, begin, limit);
    TokenSegment& segment = segments.emplace_back();
    segment.text.begin = text_end;
    segment.text.end = text_end = end < pieces.size() ? pieces[end].begin : size;
    for (; begin < end; ++begin) segment.ids.push_back(pieces[begin].id);
  }
  return segments;
}

}  // namespace dragoman::pipeline

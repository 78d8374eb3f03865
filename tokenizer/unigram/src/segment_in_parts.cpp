#include "unigram_model.h"

#include <algorithm>

#include <dragoman/core/stop_scope.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

/// The number of bytes after which a part may end.
constexpr std::size_t kPart = std::size_t{1} << 16;
constexpr UnigramBuffers::Best kNoPath{0, -1, 0};

/// The best paths to the positions of one part of a text.
class PartOfText {
 public:
  PartOfText(UnigramBuffers& buffers, std::size_t size)
      : best_(buffers.best), segments_(buffers.segments), size_(size) {
    segments_.clear();
    best_.assign(1, kNoPath);
  }

  float score(std::size_t position) const { return best_[position - begin_].score; }
  void consider(std::size_t begin, std::size_t end, std::int32_t id, float score) {
    if (best_.size() <= end - begin_) grow(end - begin_ + 1);
    UnigramBuffers::Best& best = best_[end - begin_];
    if (best.id < 0 || score > best.score) best = {score, id, static_cast<std::uint32_t>(begin)};
  }
  /// Returns whether the part is long enough and every path leads to `position`.
  bool may_end_at(std::size_t position) const {
    return position - begin_ >= kPart && best_.size() == position - begin_ + 1;
  }
  /// Appends the best path to `position`, where the next part begins.
  void end_at(std::size_t position) {
    const std::size_t first = segments_.size();
    core::StopCheck check("encoding a text");
    for (std::size_t end = position; end > begin_; end = segments_.back().begin) {
      check();
      const UnigramBuffers::Best& last = best_[end - begin_];
      segments_.emplace_back(last.id, last.begin, end);
    }
    std::reverse(segments_.begin() + static_cast<std::ptrdiff_t>(first), segments_.end());
    best_.front() = {score(position), -1, 0};
    best_.resize(1);
    begin_ = position;
  }

 private:
  void grow(std::size_t size) {
    if (size > best_.capacity()) best_.reserve(std::max(size, std::min(2 * size, size_ - begin_ + 1)));
    best_.resize(size, kNoPath);
  }

  std::vector<UnigramBuffers::Best>& best_;  // by position after begin_
  std::vector<Segment>& segments_;
  std::size_t size_;  // of the text
  std::size_t begin_ = 0;
};

}  // namespace

void UnigramModel::segment_in_parts(std::string_view text, UnigramBuffers& buffers) const {
  PartOfText part(buffers, text.size());
  core::StopCheck check("encoding a text");
  for (std::size_t begin = 0; begin < text.size();) {
    check(20);
    if (part.may_end_at(begin)) part.end_at(begin);
    const float before = part.score(begin);
    const std::size_t character = core::utf8_length(static_cast<unsigned char>(text[begin]));
    bool known = false;
    trie_.for_each_prefix(text.substr(begin), [&](std::int32_t id, std::size_t length) {
      part.consider(begin, begin + length, id, scores_[static_cast<std::size_t>(id)] + before);
      known = known || length == character;
    });
    if (!known) part.consider(begin, begin + character, unknown_, unknown_score_ + before);
    begin += character;
  }
  part.end_at(text.size());
}

}  // namespace dragoman::tokenizer

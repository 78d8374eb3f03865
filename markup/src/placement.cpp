#include "placement.h"

#include "references.h"
#include "word_alignment.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

namespace dragoman::markup {
namespace {

/// Words [begin, end) of the translation. A node without words is at the gap before word `begin`.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool empty() const { return begin == end; }
};

/// Finds the span of each node.
class SpanFinder {
 public:
  SpanFinder(const SegmentText& segment, const AlignedWords& words)
      : segment_(segment), words_(words), spans_(segment.nodes.size()), owners_(words.target.size(), kUnaligned) {
    find_children();
    find_owners();
    find_words_of_nodes();
    find_targets();
  }

  /// Parents precede their children.
  std::vector<Span> find() {
    spans_[0] = {0, static_cast<std::uint32_t>(words_.target.size())};
    for (std::uint32_t node = 0; node < segment_.nodes.size(); ++node)
      if (!children_[node].empty()) place_children(node);
    return std::move(spans_);
  }
  const std::vector<std::vector<std::uint32_t>>& children() const { return children_; }

 private:
  const Node& node(std::uint32_t number) const { return segment_.nodes[number]; }

  void find_children() {
    children_.resize(segment_.nodes.size());
    for (std::uint32_t i = 1; i < segment_.nodes.size(); ++i) children_[node(i).parent].push_back(i);
  }

  /// The owner of a target word is the node of its source word. Words without a link follow the next word, as articles
  /// do, or else the word before.
  void find_owners() {
    for (std::size_t t = 0; t < owners_.size(); ++t)
      if (words_.links[t] != kUnaligned) owners_[t] = words_.nodes[words_.links[t]];
    const auto fill = [&](std::size_t t, std::size_t neighbour) {
      const bool opaque = owners_[neighbour] != kUnaligned && node(owners_[neighbour]).kind == NodeKind::kOpaque;
      if (owners_[t] == kUnaligned && words_.target[t].punctuation == 0 && words_.target[neighbour].punctuation == 0)
        owners_[t] = opaque ? node(owners_[neighbour]).parent : owners_[neighbour];
    };
    for (std::size_t t = owners_.size(); t-- > 1;) fill(t - 1, t);
    for (std::size_t t = 1; t < owners_.size(); ++t) fill(t, t - 1);
  }

  /// Lists the target words of each node and the nodes within it, in order, and counts its source words.
  void find_words_of_nodes() {
    targets_of_node_.resize(segment_.nodes.size());
    sources_of_node_.resize(segment_.nodes.size());
    for (std::uint32_t t = 0; t < owners_.size(); ++t)
      for (std::uint32_t n = owners_[t]; n != kUnaligned; n = n == 0 ? kUnaligned : node(n).parent)
        targets_of_node_[n].push_back(t);
    for (const std::uint32_t owner : words_.nodes)
      for (std::uint32_t n = owner; n != kUnaligned; n = n == 0 ? kUnaligned : node(n).parent) ++sources_of_node_[n];
  }

  /// Finds the stretch of target words that each source word is aligned with.
  void find_targets() {
    targets_.assign(words_.source.size(), {kUnaligned, 0});
    for (std::uint32_t t = 0; t < words_.links.size(); ++t) {
      if (words_.links[t] == kUnaligned) continue;
      Span& span = targets_[words_.links[t]];
      span = {std::min(span.begin, t), std::max(span.end, t + 1)};
    }
  }

  void place_children(std::uint32_t parent) {
    const Span room = spans_[parent];
    const std::vector<std::uint32_t>& children = children_[parent];
    // cost_[t - room.begin]: what it costs to cover the words of the room before t.
    cost_.assign(room.end - room.begin + 1, 0);
    for (std::uint32_t t = room.begin; t < room.end; ++t) {
      const std::uint32_t owner = owners_[t];
      cost_[t - room.begin + 1] = cost_[t - room.begin] + (owner == kUnaligned ? 0 : owner == parent ? 1 : 2);
    }
    taken_.clear();
    std::vector<std::uint32_t> order;
    for (const std::uint32_t child : children)
      if (node(child).begin < node(child).end) order.push_back(child);
    // The one with most words chooses first.
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](std::uint32_t child) { return targets_of_node_[child].size(); });
    for (const std::uint32_t child : order) {
      const bool all = sources_of_node_[child] == sources_of_node_[parent] && !room.empty();
      spans_[child] = all && taken_.empty() ? room : best_span(child, room);
      if (!spans_[child].empty()) taken_.emplace(spans_[child].begin, spans_[child].end);
    }
    for (const std::uint32_t child : children)
      if (spans_[child].empty()) {
        const std::uint32_t gap = free_gap(gap_of(child, parent, room));
        spans_[child] = {gap, gap};
      }
  }

  /// Returns whether a word in [begin, end) belongs to a sibling's span.
  bool is_taken(std::uint32_t begin, std::uint32_t end) const {
    const auto after = taken_.lower_bound(end);
    return after != taken_.begin() && std::prev(after)->second > begin;
  }

  /// The stretch of the child's words with the largest sum, where each of them counts 1, a word of the parent -1, and a
  /// word of a sibling -2.
  Span best_span(std::uint32_t child, const Span& room) const {
    const std::vector<std::uint32_t>& targets = targets_of_node_[child];
    Span best;
    Span current;
    std::int64_t best_sum = 0;
    std::int64_t sum = 0;
    for (auto t = std::ranges::lower_bound(targets, room.begin); t != targets.end() && *t < room.end; ++t) {
      if (is_taken(*t, *t + 1)) continue;
      const bool joins = !current.empty() && !is_taken(current.end, *t);
      const std::int64_t gap = joins ? cost_[*t - room.begin] - cost_[current.end - room.begin] : 0;
      if (joins && sum > gap) {
        sum += 1 - gap;
        current.end = *t + 1;
      } else {
        sum = 1;
        current = {*t, *t + 1};
      }
      if (sum > best_sum) {
        best_sum = sum;
        best = current;
      }
    }
    return best;
  }

  /// Returns the gap in the translation for a node without words: after the word before it, or before the word after
  /// it. Words nearer to the node come first, and at equal distance the side without whitespace.
  std::uint32_t gap_of(std::uint32_t child, std::uint32_t parent, const Span& room) const {
    const auto first = static_cast<std::size_t>(
        std::ranges::partition_point(words_.source, [&](const Word& word) { return word.end <= node(child).begin; }) -
        words_.source.begin());
    const auto [low, high] = source_words(parent);
    if (first <= low) return room.begin;
    if (first >= high) return room.end;
    const bool tight_before = !node(child).space_before;
    constexpr std::size_t kFarthest = 8;
    for (std::size_t distance = 0; distance < kFarthest; ++distance) {
      for (const bool before : {tight_before, !tight_before}) {
        if (before ? first < low + distance + 1 : first + distance >= high) continue;
        const Span& span = targets_[before ? first - 1 - distance : first + distance];
        if (span.begin == kUnaligned) continue;
        return std::clamp(before ? span.end : span.begin, room.begin, room.end);
      }
    }
    return room.end;
  }

  /// Returns the range of source words of a node's text.
  std::pair<std::size_t, std::size_t> source_words(std::uint32_t number) const {
    const auto index = [&](std::uint32_t position) {
      return static_cast<std::size_t>(
          std::ranges::partition_point(words_.source, [&](const Word& word) { return word.begin < position; }) -
          words_.source.begin());
    };
    return {index(node(number).begin), index(node(number).end)};
  }

  /// Moves a gap that is inside of a sibling's span to its nearer end.
  std::uint32_t free_gap(std::uint32_t gap) const {
    const auto after = taken_.lower_bound(gap);
    if (after == taken_.begin()) return gap;
    const auto [begin, end] = *std::prev(after);
    if (end <= gap) return gap;
    return gap - begin < end - gap ? begin : end;
  }

  const SegmentText& segment_;
  const AlignedWords& words_;
  std::vector<Span> spans_;
  std::vector<std::uint32_t> owners_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::vector<std::vector<std::uint32_t>> targets_of_node_;
  std::vector<std::uint32_t> sources_of_node_;
  std::vector<Span> targets_;
  std::vector<std::int64_t> cost_;
  std::map<std::uint32_t, std::uint32_t> taken_;  ///< the spans of the siblings that have been placed
};

/// Writes the words and tags in order.
class Writer {
 public:
  Writer(std::string& out, const SegmentText& segment, std::string_view text, const std::vector<Word>& words,
         const AppendItem& append_item, const EndOf& end_of)
      : out_(out),
        segment_(segment),
        text_(text),
        words_(words),
        append_item_(append_item),
        end_of_(end_of),
        start_(out.size()) {}

  void write(std::vector<Span> spans, std::vector<std::vector<std::uint32_t>> children) {
    spans_ = std::move(spans);
    children_ = std::move(children);
    for (std::vector<std::uint32_t>& siblings : children_)
      std::ranges::stable_sort(siblings, [&](std::uint32_t a, std::uint32_t b) {
        const Span& left = spans_[a];
        const Span& right = spans_[b];
        return left.begin != right.begin ? left.begin < right.begin : left.empty() && !right.empty();
      });
    write_content(0);
    write_words(static_cast<std::uint32_t>(words_.size()));
    write_space();
  }

 private:
  /// The depth is bounded by kMaxInlineDepth.
  void write_content(std::uint32_t parent) {
    for (const std::uint32_t child : children_[parent]) {
      const Span& span = spans_[child];
      write_words(span.begin);
      if (span.empty())
        write_empty(child);
      else
        write_with_words(child);
    }
    write_words(spans_[parent].end);
  }

  void write_with_words(std::uint32_t child) {
    const Node& node = segment_.nodes[child];
    write_space();
    append_item_(out_, node.item);
    if (node.kind == NodeKind::kOpaque) {
      // It has its own text instead of these words.
      at_ = words_[spans_[child].end - 1].end;
      next_ = spans_[child].end;
      return;
    }
    write_content(child);
    append_item_(out_, end_of_(node.item));
  }

  void write_empty(std::uint32_t child) {
    const Node& node = segment_.nodes[child];
    const bool spaced = node.kind != NodeKind::kElement;
    if (spaced && node.space_before) {
      write_space();
      if (out_.size() > start_ && out_.back() != ' ') out_ += ' ';
    }
    append_item_(out_, node.item);
    if (node.kind == NodeKind::kElement) {
      write_content(child);
      append_item_(out_, end_of_(node.item));
    } else if (node.space_after && node.end < segment_.text.size() && !has_space()) {
      out_ += ' ';
    }
  }

  bool has_space() const { return next_ < words_.size() && at_ < words_[next_].begin; }
  void write_words(std::uint32_t end) {
    for (; next_ < end; ++next_) {
      append_encoded(out_, text_.substr(at_, words_[next_].end - at_));
      at_ = words_[next_].end;
    }
  }
  /// Writes the whitespace before the next word, or at the end.
  void write_space() {
    const std::size_t end = next_ < words_.size() ? words_[next_].begin : text_.size();
    append_encoded(out_, text_.substr(at_, end - at_));
    at_ = end;
  }

  std::string& out_;
  const SegmentText& segment_;
  std::string_view text_;
  const std::vector<Word>& words_;
  const AppendItem& append_item_;
  const EndOf& end_of_;
  std::size_t start_;
  std::vector<Span> spans_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::uint32_t next_ = 0;  ///< the next word
  std::size_t at_ = 0;      ///< the text before has been written
};

}  // namespace

void append_translated(std::string& out, const SegmentText& segment, const TranslatedSegment& translated,
                       const AppendItem& append_item, const EndOf& end_of) {
  if (segment.nodes.size() == 1) return append_encoded(out, translated.text);
  const AlignedWords words = align_words(segment, translated);
  SpanFinder finder(segment, words);
  std::vector<Span> spans = finder.find();
  Writer(out, segment, translated.text, words.target, append_item, end_of).write(std::move(spans), finder.children());
}

}  // namespace dragoman::markup

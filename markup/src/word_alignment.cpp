#include "word_alignment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace dragoman::markup {
namespace {

/// Appends the words of the text outside of `units`, and the units as words.
std::vector<Word> words_around(std::string_view text, const std::vector<Word>& units) {
  std::vector<Word> words;
  std::uint32_t done = 0;
  for (const Word& unit : units) {
    append_words(text.substr(done, unit.begin - done), done, words);
    words.push_back(unit);
    done = unit.end;
  }
  append_words(text.substr(done), done, words);
  return words;
}

/// Returns the words that a stretch of the text touches, as indices.
std::pair<std::size_t, std::size_t> touched(const std::vector<Word>& words, std::uint32_t begin, std::uint32_t end) {
  const auto first = std::ranges::partition_point(words, [&](const Word& word) { return word.end <= begin; });
  auto last = first;
  while (last != words.end() && last->begin < end) ++last;
  return {static_cast<std::size_t>(first - words.begin()), static_cast<std::size_t>(last - words.begin())};
}

float overlap(const Word& word, std::uint32_t begin, std::uint32_t end) {
  return static_cast<float>(std::min(word.end, end) - std::max(word.begin, begin));
}

class Aligner {
 public:
  Aligner(const SegmentText& segment, const TranslatedSegment& translated)
      : segment_(segment), translated_(translated) {}

  AlignedWords align() {
    find_opaque();
    words_.source = words_around(segment_.text, source_units_);
    words_.target = words_around(translated_.text, target_units_);
    words_.links.assign(words_.target.size(), kUnaligned);
    find_nodes();
    if (translated_.links.empty())
      align_by_position();
    else
      align_by_links();
    align_equal_punctuation();
    align_copies();
    return std::move(words_);
  }

 private:
  /// Finds the texts of opaque nodes in the source, and their copies in the translation: in order, where possible.
  void find_opaque() {
    for (const Node& node : segment_.nodes) {
      if (node.kind != NodeKind::kOpaque || node.begin == node.end) continue;
      source_units_.push_back({node.begin, node.end, 0});
      const std::string_view text = std::string_view(segment_.text).substr(node.begin, node.end - node.begin);
      const std::uint32_t copy = find_copy(text, is_apart(segment_.text, node.begin, node.end));
      copies_.emplace_back(node.begin, copy);
      if (copy == kUnaligned) continue;
      const Word unit{copy, copy + static_cast<std::uint32_t>(text.size()), 0};
      target_units_.insert(std::ranges::upper_bound(target_units_, unit.begin, {}, &Word::begin), unit);
    }
  }
  /// `apart`: not as a part of a longer word.
  std::uint32_t find_copy(std::string_view text, bool apart) const {
    const std::string_view all = translated_.text;
    for (std::size_t at = all.find(text); at != std::string_view::npos; at = all.find(text, at + text.size())) {
      const auto end = static_cast<std::uint32_t>(at + text.size());
      const auto is_free = [&](const Word& unit) { return unit.end <= at || unit.begin >= end; };
      if ((!apart || is_apart(all, at, end)) && std::ranges::all_of(target_units_, is_free))
        return static_cast<std::uint32_t>(at);
    }
    return kUnaligned;
  }
  /// Returns whether a stretch is no part of a longer word.
  static bool is_apart(std::string_view all, std::size_t begin, std::size_t end) {
    const auto is_letter = [](char c) { return (c & 0x80) != 0 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    return (begin == 0 || !is_letter(all[begin]) || !is_letter(all[begin - 1])) &&
           (end == all.size() || !is_letter(all[end - 1]) || !is_letter(all[end]));
  }

  void find_nodes() {
    std::vector<std::uint32_t> depths(segment_.nodes.size(), 0);
    for (std::size_t i = 1; i < depths.size(); ++i) depths[i] = depths[segment_.nodes[i].parent] + 1;
    std::size_t stretch = 0;
    const auto end_of = [&](std::size_t i) {
      return i + 1 < segment_.stretches.size() ? segment_.stretches[i + 1].begin
                                               : static_cast<std::uint32_t>(segment_.text.size());
    };
    for (const Word& word : words_.source) {
      while (stretch + 1 < segment_.stretches.size() && end_of(stretch) <= word.begin) ++stretch;
      std::uint32_t best = segment_.stretches[stretch].node;
      float longest = 0;
      for (std::size_t i = stretch; i < segment_.stretches.size() && segment_.stretches[i].begin < word.end; ++i) {
        const std::uint32_t node = segment_.stretches[i].node;
        const float length = overlap(word, segment_.stretches[i].begin, end_of(i));
        if (depths[node] < depths[best] || (depths[node] == depths[best] && length <= longest)) continue;
        best = node;
        longest = length;
      }
      words_.nodes.push_back(best);
    }
  }

  void align_by_position() {
    if (words_.source.empty()) return;
    for (std::size_t t = 0; t < words_.target.size(); ++t)
      words_.links[t] = static_cast<std::uint32_t>(t * words_.source.size() / words_.target.size());
  }

  using Weights = std::vector<std::map<std::uint32_t, float>>;
  /// A link of more words is a link of a sentence without tags inside. Which of its words are aligned does not matter.
  static constexpr std::size_t kWide = 8;

  void link_to_first_words(std::size_t target, std::size_t target_end, std::size_t source, std::size_t source_end,
                           Weights& weights) const {
    for (const bool punctuation : {false, true}) {
      std::size_t s = source;
      while (s < source_end && (words_.source[s].punctuation != 0) != punctuation) ++s;
      if (s == source_end) continue;
      for (std::size_t t = target; t < target_end; ++t)
        if ((words_.target[t].punctuation != 0) == punctuation) weights[t][static_cast<std::uint32_t>(s)] += 1;
    }
  }

  /// Adds up the weights of all links between each two words.
  void align_by_links() {
    Weights weights(words_.target.size());
    for (const Link& link : translated_.links) {
      const auto [target, target_end] = touched(words_.target, link.target_begin, link.target_end);
      const auto [source, source_end] = touched(words_.source, link.source_begin, link.source_end);
      if (source_end - source > kWide) {
        link_to_first_words(target, target_end, source, std::min(source_end, source + 8 * kWide), weights);
        continue;
      }
      for (std::size_t t = target; t < target_end; ++t)
        for (std::size_t s = source; s < source_end; ++s)
          weights[t][static_cast<std::uint32_t>(s)] += link.weight *
                                                       overlap(words_.source[s], link.source_begin, link.source_end) /
                                                       static_cast<float>(link.source_end - link.source_begin);
    }
    std::vector<float> sums(words_.source.size());
    for (const auto& row : weights)
      for (const auto& [s, weight] : row) sums[s] += weight;
    for (std::size_t t = 0; t < words_.target.size(); ++t) {
      float best = 0;
      for (const auto& [s, weight] : weights[t]) {
        const bool same_kind = (words_.source[s].punctuation == 0) == (words_.target[t].punctuation == 0);
        // Many words attend to commas and the like, whose weights are therefore reduced.
        const float share = weight / std::sqrt(sums[s]);
        if (!same_kind || share <= best) continue;
        best = share;
        words_.links[t] = s;
      }
    }
  }

  /// Punctuation that occurs as often in the translation as in the source is aligned in order: attention is least
  /// reliable for it.
  void align_equal_punctuation() {
    std::map<char32_t, std::vector<std::uint32_t>> in_source;
    std::map<char32_t, std::vector<std::uint32_t>> in_target;
    for (std::uint32_t s = 0; s < words_.source.size(); ++s) in_source[words_.source[s].punctuation].push_back(s);
    for (std::uint32_t t = 0; t < words_.target.size(); ++t) in_target[words_.target[t].punctuation].push_back(t);
    for (const auto& [character, targets] : in_target) {
      if (character == 0) continue;
      const std::vector<std::uint32_t>& sources = in_source[character];
      if (sources.size() != targets.size()) continue;
      for (std::size_t i = 0; i < targets.size(); ++i) words_.links[targets[i]] = sources[i];
    }
  }

  void align_copies() {
    const auto index_at = [](const std::vector<Word>& words, std::uint32_t begin) {
      return static_cast<std::uint32_t>(std::ranges::lower_bound(words, begin, {}, &Word::begin) - words.begin());
    };
    for (const auto& [source, copy] : copies_) {
      if (copy == kUnaligned) continue;
      const std::uint32_t word = index_at(words_.source, source);
      // Other words that are aligned with it are not its copy.
      std::ranges::replace(words_.links, word, kUnaligned);
      words_.links[index_at(words_.target, copy)] = word;
    }
  }

  const SegmentText& segment_;
  const TranslatedSegment& translated_;
  AlignedWords words_;
  std::vector<Word> source_units_;
  std::vector<Word> target_units_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> copies_;  ///< of opaque texts: their begins in both texts
};

}  // namespace

AlignedWords align_words(const SegmentText& segment, const TranslatedSegment& translated) {
  return Aligner(segment, translated).align();
}

}  // namespace dragoman::markup

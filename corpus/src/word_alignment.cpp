#include "dragoman/corpus/word_alignment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>

namespace dragoman::corpus {
namespace {

using core::TextRange;

bool is_ascii_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// A matrix of flags that counts the set flags in each row and column.
class LinkTable {
 public:
  LinkTable(std::int32_t sources, std::int32_t targets)
      : cols_(static_cast<std::size_t>(targets)),
        links_(static_cast<std::size_t>(sources) * cols_),
        source_linked_(static_cast<std::size_t>(sources)),
        target_linked_(cols_) {}

  bool has(std::int32_t source, std::int32_t target) const { return links_[place(source, target)]; }
  bool source_linked(std::int32_t source) const { return source_linked_[static_cast<std::size_t>(source)]; }
  bool target_linked(std::int32_t target) const { return target_linked_[static_cast<std::size_t>(target)]; }
  void add(Link link) {
    links_[place(link.source, link.target)] = true;
    source_linked_[static_cast<std::size_t>(link.source)] = true;
    target_linked_[static_cast<std::size_t>(link.target)] = true;
  }

 private:
  std::size_t place(std::int32_t source, std::int32_t target) const {
    return static_cast<std::size_t>(source) * cols_ + static_cast<std::size_t>(target);
  }

  std::size_t cols_;
  std::vector<bool> links_;
  std::vector<bool> source_linked_;
  std::vector<bool> target_linked_;
};

class Growing {
 public:
  Growing(const Links& intersection, const Links& all) {
    for (const Link& link : all) {
      sources_ = std::max(sources_, link.source + 1);
      targets_ = std::max(targets_, link.target + 1);
    }
    allowed_ = LinkTable(sources_, targets_);
    chosen_ = LinkTable(sources_, targets_);
    for (const Link& link : all) allowed_.add(link);
    for (const Link& link : intersection) chosen_.add(link);
  }

  /// Adds neighbours of links until none aligns a unit that has no link yet.
  void grow() {
    for (bool grew = true; grew;) {
      grew = false;
      for (std::int32_t target = 0; target < targets_; ++target)
        for (std::int32_t source = 0; source < sources_; ++source)
          if (chosen_.has(source, target)) grew = add_neighbours({source, target}) || grew;
    }
  }

  void add_final(const Links& direction, bool both_unlinked) {
    for (const Link& link : direction) {
      const bool source_free = !chosen_.source_linked(link.source);
      const bool target_free = !chosen_.target_linked(link.target);
      if (both_unlinked ? source_free && target_free : source_free || target_free) chosen_.add(link);
    }
  }

  Links take() const {
    Links links;
    for (std::int32_t source = 0; source < sources_; ++source)
      for (std::int32_t target = 0; target < targets_; ++target)
        if (chosen_.has(source, target)) links.push_back({source, target});
    return links;
  }

 private:
  bool add_neighbours(Link link) {
    // The target and source steps, in the order of the published pseudo-code.
    static constexpr std::array<std::pair<int, int>, 8> kNeighbours = {
        {{-1, 0}, {0, -1}, {1, 0}, {0, 1}, {-1, -1}, {-1, 1}, {1, -1}, {1, 1}}};
    bool added = false;
    for (const auto& [target_step, source_step] : kNeighbours) {
      const Link next{link.source + source_step, link.target + target_step};
      if (next.source < 0 || next.source >= sources_ || next.target < 0 || next.target >= targets_) continue;
      if (chosen_.source_linked(next.source) && chosen_.target_linked(next.target)) continue;
      if (!allowed_.has(next.source, next.target)) continue;
      chosen_.add(next);
      added = true;
    }
    return added;
  }

  std::int32_t sources_ = 0;
  std::int32_t targets_ = 0;
  LinkTable allowed_{0, 0};
  LinkTable chosen_{0, 0};
};

/// Sorts links by target unit, then by source unit: the order of the published pseudo-code.
Links by_target(Links links) {
  std::ranges::sort(links, {}, [](const Link& link) { return std::pair(link.target, link.source); });
  return links;
}

}  // namespace

std::vector<TextRange> words_of(std::string_view text) {
  std::vector<TextRange> words;
  for (std::size_t i = 0; i < text.size();) {
    while (i < text.size() && is_ascii_blank(text[i])) ++i;
    const std::size_t begin = i;
    while (i < text.size() && !is_ascii_blank(text[i])) ++i;
    if (i > begin) words.push_back({begin, i});
  }
  return words;
}

Links symmetrize(const Links& forward, const Links& backward, Symmetrization how) {
  Links both;
  Links any;
  std::ranges::set_intersection(forward, backward, std::back_inserter(both));
  std::ranges::set_union(forward, backward, std::back_inserter(any));
  if (how == Symmetrization::kIntersection) return both;
  if (how == Symmetrization::kUnion) return any;
  Growing growing(both, any);
  growing.grow();
  if (how != Symmetrization::kGrowDiag)
    for (const Links* direction : {&forward, &backward})
      growing.add_final(by_target(*direction), how == Symmetrization::kGrowDiagFinalAnd);
  return growing.take();
}

std::string to_pharaoh(const Links& links) {
  std::string line;
  for (const Link& link : links)
    fmt::format_to(std::back_inserter(line), "{}{}-{}", line.empty() ? "" : " ", link.source, link.target);
  return line;
}

Links parse_pharaoh(std::string_view line, std::int64_t source_size, std::int64_t target_size) {
  Links links;
  for (const TextRange& range : words_of(line)) {
    const std::string_view word = line.substr(range.begin, range.end - range.begin);
    const char* const end = word.data() + word.size();
    Link link;
    const auto source = std::from_chars(word.data(), end, link.source);
    const bool has_dash = source.ec == std::errc() && source.ptr != end && *source.ptr == '-';
    const auto target = has_dash ? std::from_chars(source.ptr + 1, end, link.target)
                                 : std::from_chars_result{end, std::errc::invalid_argument};
    core::require(target.ec == std::errc() && target.ptr == end && link.source >= 0 && link.target >= 0,
                  core::ErrorCode::kBadInput, "{} is no link; there must be numbers from 0, as in 0-0 1-2",
                  core::Quoted{word});
    core::require(link.source < source_size && link.target < target_size, core::ErrorCode::kBadInput,
                  "the link {}-{} is outside of {} source and {} target units; are these the texts that were aligned, "
                  "and units of the same kind?",
                  link.source, link.target, source_size, target_size);
    links.push_back(link);
  }
  std::ranges::sort(links);
  links.erase(std::unique(links.begin(), links.end()), links.end());
  return links;
}

}  // namespace dragoman::corpus

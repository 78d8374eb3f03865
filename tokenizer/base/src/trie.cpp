#include "base/trie.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/stop_scope.h>

namespace dragoman::tokenizer {

/// The entries [begin, end), which share their first `depth` bytes.
struct Trie::Range {
  std::size_t begin;
  std::size_t end;
  std::size_t depth;
};

Trie::Trie(std::vector<Entry> entries) {
  if (entries.empty()) return;
  for (const auto& [key, value] : entries)
    core::require(key.size() <= kLongestKey, core::ErrorCode::kUnsupported,
                  "the piece {} has {} bytes, and a piece that is looked for in texts has at most {}",
                  core::Quoted{key}, key.size(), kLongestKey);
  core::StopCheck check("opening a tokenizer");
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    check(5);
    return a < b;
  });
  labels_ = {0};
  values_ = {-1};
  std::vector<Range> level = {{0, entries.size(), 0}};
  while (!level.empty()) {
    std::vector<Range> next;
    for (const Range& range : level) {
      check(50);
      add_children(entries, range, next);
    }
    level = std::move(next);
  }
  first_child_.push_back(static_cast<std::uint32_t>(labels_.size()));
  for (std::uint32_t node = first_child_[0]; node < first_child_[1]; ++node) roots_[labels_[node]] = node;
}

void Trie::add_children(const std::vector<Entry>& entries, const Range& range, std::vector<Range>& next) {
  first_child_.push_back(static_cast<std::uint32_t>(labels_.size()));
  std::size_t i = range.begin;
  while (i < range.end && entries[i].first.size() == range.depth) ++i;
  while (i < range.end) {
    const auto label = static_cast<unsigned char>(entries[i].first[range.depth]);
    std::size_t end = i + 1;
    while (end < range.end && static_cast<unsigned char>(entries[end].first[range.depth]) == label) ++end;
    const Range below{i, end, range.depth + 1};
    labels_.push_back(label);
    values_.push_back(entries[i].first.size() == below.depth ? entries[i].second : -1);
    next.push_back(below);
    i = below.end;
  }
}

std::uint32_t Trie::child(std::uint32_t node, unsigned char byte) const noexcept {
  const auto begin = labels_.begin() + first_child_[node];
  const auto end = labels_.begin() + first_child_[node + 1];
  const auto found = std::lower_bound(begin, end, byte);
  return found == end || *found != byte ? 0 : static_cast<std::uint32_t>(found - labels_.begin());
}

Trie::Match Trie::longest_prefix(std::string_view text) const noexcept {
  Match best;
  if (text.empty() || empty()) return best;
  std::uint32_t node = roots_[static_cast<unsigned char>(text[0])];
  for (std::size_t length = 1; node != 0; ++length) {
    if (values_[node] >= 0) best = {values_[node], length};
    if (length == text.size()) break;
    node = child(node, static_cast<unsigned char>(text[length]));
  }
  return best;
}

}  // namespace dragoman::tokenizer

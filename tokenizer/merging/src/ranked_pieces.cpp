#include "merging/ranked_pieces.h"

#include "base/character_table.h"
#include "base/index.h"
#include "base/piece_table.h"
#include "merging/merge_table.h"

#include <algorithm>
#include <queue>
#include <span>
#include <tuple>

#include <dragoman/core/error.h>
#include <dragoman/core/hash_tables.h>
#include <dragoman/core/quote.h>
#include <dragoman/core/utf8.h>

namespace dragoman::tokenizer {
namespace {

/// Merges the parts of one piece at a time.
class PieceMerging {
 public:
  PieceMerging(const RankedPieces& pieces, const PieceTable<>& ids) : pieces_(pieces), ids_(ids) {}

  /// Finds the last merge that produces the piece from its parts. Returns false if they do not become one piece.
  bool last_merge(std::int32_t id, Merge& last) {
    const auto& parts = pieces_.parts[index(id)];
    if (parts.size() < 2) return false;
    start(parts);
    std::size_t left = parts.size();
    while (!heap_.empty() && left > 1) {
      const Candidate best = heap_.top();
      heap_.pop();
      if (!is_current(best)) continue;
      last = {symbols_[best.position].id, symbols_[symbols_[best.position].next].id, best.result};
      apply(best);
      --left;
    }
    return left == 1 && last.result == id;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct PartSymbol {
    std::int32_t id;
    std::size_t begin;
    std::size_t end;
    std::size_t previous;
    std::size_t next;
  };
  struct Candidate {
    std::int64_t rank;
    std::size_t position;
    std::size_t end;  // of the joint text; identifies stale candidates
    std::int32_t result;
    bool operator>(const Candidate& other) const {
      return std::tie(rank, position) > std::tie(other.rank, other.position);
    }
  };

  void start(const std::vector<std::int32_t>& parts) {
    symbols_.clear();
    text_.clear();
    heap_ = {};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t begin = text_.size();
      text_ += pieces_.texts[index(parts[i])];
      symbols_.push_back({parts[i], begin, text_.size(), i == 0 ? kNone : i - 1, i + 1 < parts.size() ? i + 1 : kNone});
    }
    for (std::size_t i = 0; i < parts.size(); ++i) consider(i);
  }

  void consider(std::size_t position) {
    if (position == kNone || symbols_[position].next == kNone) return;
    const std::size_t begin = symbols_[position].begin;
    const std::size_t end = symbols_[symbols_[position].next].end;
    const std::int32_t id = ids_.find(std::string_view(text_).substr(begin, end - begin));
    if (id >= 0 && pieces_.ranks[index(id)] >= 0) heap_.push({pieces_.ranks[index(id)], position, end, id});
  }

  bool is_current(const Candidate& candidate) const {
    const PartSymbol& left = symbols_[candidate.position];
    return left.id >= 0 && left.next != kNone && symbols_[left.next].end == candidate.end;
  }

  void apply(const Candidate& candidate) {
    PartSymbol& left = symbols_[candidate.position];
    PartSymbol& right = symbols_[left.next];
    left.id = candidate.result;
    left.end = right.end;
    left.next = right.next;
    right.id = -1;
    if (left.next != kNone) symbols_[left.next].previous = candidate.position;
    consider(left.previous);
    consider(candidate.position);
  }

  const RankedPieces& pieces_;
  const PieceTable<>& ids_;
  std::string text_;
  std::vector<PartSymbol> symbols_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap_;
};

[[noreturn]] void fail_for_tie(const Merge& a, const Merge& b, const RankedPieces& pieces, const std::string& name) {
  core::fail(
      core::ErrorCode::kUnsupported,
      "{}: the pieces {} and {} have the same score, so that the leftmost merges first, which no order of merges "
      "does for these; give them different scores",
      name, core::Quoted{pieces.texts[index(a.result)]}, core::Quoted{pieces.texts[index(b.result)]});
}

/// Orders merges of one rank such that the effect is "leftmost first". `better` are the merges of better ranks.
///
/// If two of them compete for the same symbol, the left one must come first. A merge whose right side is the left side
/// of another therefore precedes that one. A merge follows the merges that produce its sides. In such an order, a merge
/// is applied only where no other merge can take its left symbol from the left, as with "leftmost first". A better
/// merge must not need the result of a tied merge, since it would have to come between them.
void order_tied(std::span<const Merge> better, std::span<Merge> tied, const RankedPieces& pieces,
                const std::string& name) {
  constexpr std::size_t kMaxEdges = std::size_t{1} << 22;
  core::IntegerMap<std::int32_t, std::vector<std::size_t>> by_left;
  core::IntegerMap<std::int32_t, std::size_t> by_result;
  for (std::size_t i = 0; i < tied.size(); ++i) {
    by_left[tied[i].left].push_back(i);
    by_result.emplace(tied[i].result, i);
  }
  for (const Merge& merge : better)
    for (const std::int32_t part : {merge.left, merge.right})
      if (const auto made = by_result.find(part); made != by_result.end())
        fail_for_tie(tied[made->second], tied[made->second == 0 ? 1 : 0], pieces, name);
  std::vector<std::vector<std::size_t>> later(tied.size());
  std::vector<std::size_t> waits_for(tied.size(), 0);
  std::size_t edges = 0;
  const auto add = [&](std::size_t first, std::size_t second) {
    if (first == second) return;
    if (++edges > kMaxEdges) fail_for_tie(tied[first], tied[second], pieces, name);
    later[first].push_back(second);
    ++waits_for[second];
  };
  for (std::size_t i = 0; i < tied.size(); ++i) {
    if (const auto wanted = by_left.find(tied[i].right); wanted != by_left.end())
      for (const std::size_t other : wanted->second) add(i, other);
    for (const std::int32_t part : {tied[i].left, tied[i].right})
      if (const auto made = by_result.find(part); made != by_result.end()) add(made->second, i);
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < tied.size(); ++i)
    if (waits_for[i] == 0) ready.push(i);
  std::vector<Merge> ordered;
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    ordered.push_back(tied[next]);
    for (const std::size_t other : later[next])
      if (--waits_for[other] == 0) ready.push(other);
  }
  if (ordered.size() < tied.size()) {
    const auto stuck = std::ranges::find_if(waits_for, [](std::size_t count) { return count > 0; });
    const auto other = std::find_if(stuck + 1, waits_for.end(), [](std::size_t count) { return count > 0; });
    fail_for_tie(tied[static_cast<std::size_t>(stuck - waits_for.begin())],
                 tied[static_cast<std::size_t>(other - waits_for.begin())], pieces, name);
  }
  std::ranges::copy(ordered, tied.begin());
}

/// Returns the pieces of the characters of a text, or an empty list if one is missing.
std::vector<std::int32_t> spell(std::string_view text, const CharacterTable& characters) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < text.size();) {
    const core::DecodedCharacter c = core::decode_utf8(text, i);
    const std::int32_t id = characters.find(c.code_point);
    if (id < 0) return {};
    ids.push_back(id);
    i += c.length;
  }
  return ids;
}

/// Returns the pair with which the merging of a piece alone ends, or -1 and -1. Quadratic, since pieces are short.
std::pair<std::int32_t, std::int32_t> last_pair(const MergeTable& table, std::vector<std::int32_t> word) {
  core::require(
      word.size() <= kLongestMergedPiece, core::ErrorCode::kUnsupported,
      "a piece of {} characters is too long; this kind of file has pieces of up to {} here, so learn with that "
      "bound (`max_piece_length`), or write tokenizer-json",
      word.size(), kLongestMergedPiece);
  while (word.size() >= 2) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < word.size(); ++i)
      if (table.rank(word[i], word[i + 1]) < table.rank(word[best], word[best + 1])) best = i;
    const std::uint32_t rank = table.rank(word[best], word[best + 1]);
    if (rank == MergeTable::kNoRank) break;
    if (word.size() == 2) return {word[0], word[1]};
    word[best] = table.result(rank);
    word.erase(word.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  return {-1, -1};
}

}  // namespace

std::vector<Merge> reachable_merges(const BpeDefinition& definition) {
  CharacterTable characters;
  for (std::size_t i = 0; i < definition.pieces.size(); ++i) {
    const core::DecodedCharacter c = core::decode_utf8(definition.pieces[i], 0);
    if (c.length == definition.pieces[i].size()) characters.set(c.code_point, static_cast<std::int32_t>(i));
  }
  const MergeTable table(definition.merges);
  std::vector<Merge> reachable;
  for (const Merge& merge : definition.merges)
    if (last_pair(table, spell(definition.pieces[index(merge.result)], characters)) ==
        std::pair(merge.left, merge.right))
      reachable.push_back(merge);
  return reachable;
}

std::vector<Merge> explicit_merges(const RankedPieces& pieces, const std::string& name) {
  PieceTable<> ids(pieces.texts);
  for (std::size_t i = 0; i < pieces.texts.size(); ++i)
    if (!pieces.texts[i].empty() && (pieces.ranks[i] >= 0 || pieces.parts[i].size() == 1))
      ids.add(static_cast<std::int32_t>(i));
  PieceMerging merging(pieces, ids);
  std::vector<Merge> merges;
  Merge last{};
  for (std::size_t i = 0; i < pieces.texts.size(); ++i)
    if (pieces.ranks[i] >= 0 && merging.last_merge(static_cast<std::int32_t>(i), last)) merges.push_back(last);
  const auto rank = [&](const Merge& merge) { return pieces.ranks[index(merge.result)]; };
  std::ranges::sort(merges, std::less<>(), rank);
  for (auto first = merges.begin(); first != merges.end();) {
    const auto end = std::find_if(first, merges.end(), [&](const Merge& merge) { return rank(merge) != rank(*first); });
    if (end - first > 1) order_tied({merges.begin(), first}, {first, end}, pieces, name);
    first = end;
  }
  return merges;
}

}  // namespace dragoman::tokenizer

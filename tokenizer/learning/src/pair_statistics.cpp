#include "learning/pair_statistics.h"

#include <algorithm>
#include <cmath>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

/// The number of pairs that are prefetched from memory.
constexpr std::size_t kPairsAhead = 8;
/// Smaller shards are not worth waking another thread.
constexpr std::size_t kCellsOfShard = std::size_t{1} << 18;
/// The counts of merged pairs fall about as the number of merges to the power of -1 to -1.5 (46 languages: -1.33,
/// unspaced Han text: -1.06, English: -1.48). With the larger power, the floor comes out too low rather than too high.
constexpr double kCountExponent = 1.5;
/// The divisor of a floor that is too high.
constexpr std::int64_t kFloorDivisor = 4;

}  // namespace

PairStatistics::Division PairStatistics::divide(const Text& text, const ThreadArena& arena, std::size_t merges) {
  const auto threads = static_cast<std::size_t>(arena.threads());
  return {.shards = std::clamp<std::size_t>(text.cells.size() / kCellsOfShard, 1, threads), .merges = merges};
}

PairStatistics::PairStatistics(Text text, std::uint64_t min_count, ThreadArena& arena, const Division& division,
                               Precedes precedes)
    : min_count_(static_cast<std::int64_t>(std::max<std::uint64_t>(min_count, 1))),
      arena_(arena),
      worth_sharing_(division.worth_sharing),
      merges_(division.merges),
      text_{.cells = std::move(text.cells), .weights = std::move(text.weights), .lengths = {}},
      precedes_(std::move(precedes)),
      floor_(min_count_) {
  add_shards(division.shards);
  make_room(std::max(0, *std::max_element(text_.cells.begin(), text_.cells.end())));
  record_pairs(std::nullopt, min_count_);
}

/// Divides the cells into equal shares that end at barriers.
void PairStatistics::add_shards(std::size_t count) {
  const auto size = text_.cells.size();
  shards_.reserve(count);
  places_.resize(count);
  std::size_t begin = 0;
  for (std::size_t s = 1; s <= count; ++s) {
    std::size_t end = std::max(begin + 1, size * s / count);
    while (end < size && text_.cells[end - 1] != kBarrier) ++end;
    shards_.emplace_back(text_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end));
    begin = end - 1;  // the barrier belongs to both shards, and neither writes it
  }
}

void PairStatistics::make_room(std::int32_t symbol) {
  const std::size_t size = static_cast<std::size_t>(symbol) + 1;
  if (size <= text_.lengths.size()) return;
  text_.lengths.resize(size, 1);
  for (PairShard& shard : shards_) shard.make_room(size);
}

template <class Body>
void PairStatistics::for_each_shard(bool in_parallel, Body&& body) {
  if (!in_parallel || shards_.size() == 1) {
    for (std::size_t s = 0; s < shards_.size(); ++s) body(s);
    return;
  }
  arena_.for_each(shards_.size(), body);
}

/// Counts all pairs, or the pairs with one symbol, and records new ones with at least `least` occurrences.
void PairStatistics::record_pairs(std::optional<std::int32_t> with, std::int64_t least) {
  std::vector<PairMap<PairShard::PairPlaces>> counted(shards_.size());
  for_each_shard(true, [&](std::size_t s) { counted[s] = shards_[s].index_pairs(with); });
  for (std::size_t s = 0; s < counted.size(); ++s)
    counted[s].for_each([&](std::uint64_t key, const PairShard::PairPlaces& pair) {
      std::int64_t count = pair.count;
      for (std::size_t other = 0; other < counted.size(); ++other) {
        const PairShard::PairPlaces* more = other == s ? nullptr : counted[other].find(key);
        if (more != nullptr && other < s) return;  // handled, recorded or not, with that shard
        if (more != nullptr) count += more->count;
      }
      if (count < least || pairs_.find(key) != nullptr) return;
      PairState& state = pairs_.at(key);
      state.count = count;
      for (std::size_t other = s; other < counted.size(); ++other)
        if (const PairShard::PairPlaces* part = counted[other].find(key))
          state.segment = add_segment(part->places, other, state.segment);
      offer(key, count);
    });
}

std::optional<PairStatistics::Pair> PairStatistics::pop_best() {
  while (true) {
    while (floor_ > min_count_ && (heap_.empty() || heap_.front().count < floor_)) lower_floor();
    if (heap_.empty()) return std::nullopt;
    std::pop_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return comes_later(a, b); });
    const HeapEntry top = heap_.back();
    heap_.pop_back();
    const std::int32_t left = pair_left(top.key);
    const std::int32_t right = pair_right(top.key);
    PairState& pair = state(left, right);
    if (!pair.exact) count_again(pair, top.key);
    if (pair.count == top.count) return Pair{left, right, static_cast<std::uint64_t>(pair.count)};
    offer(top.key, pair.count);
  }
}

/// Sets the floor to the count that the last merge is expected to have.
void PairStatistics::raise_floor(std::int64_t count) {
  ++merged_;
  if (merged_ >= merges_) return;
  const double share = static_cast<double>(merged_) / static_cast<double>(merges_);
  floor_ = std::max(floor_, static_cast<std::int64_t>(static_cast<double>(count) * std::pow(share, kCountExponent)));
}

/// Counts fell faster than expected. Returns those pairs to the heap that may reach a lower floor, which does not rise
/// again: without a number of merges, raise_floor() has no forecast.
void PairStatistics::lower_floor() {
  merges_ = 0;
  floor_ = std::max(min_count_, floor_ / kFloorDivisor);
  const auto kept = std::partition(aside_.begin(), aside_.end(), [&](const auto& pair) { return pair.count < floor_; });
  for (auto pair = kept; pair != aside_.end(); ++pair) {
    pairs_.at(pair->key) = {.count = pair->count, .segment = pair->segment, .exact = false};
    offer(pair->key, pair->count);
  }
  aside_.erase(kept, aside_.end());
  if (aside_.empty()) aside_.shrink_to_fit();
}

void PairStatistics::count_again(PairState& pair, std::uint64_t key) {
  collect_places(pair);
  pair.count = 0;
  for (std::size_t s = 0; s < shards_.size(); ++s)
    pair.count += shards_[s].count(pair_left(key), pair_right(key), places_[s]);
  pair.exact = true;
}

void PairStatistics::offer(std::uint64_t key, std::int64_t count) {
  if (count < min_count_) return;
  heap_.push_back({count, key});
  std::push_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return comes_later(a, b); });
}

bool PairStatistics::comes_later(const HeapEntry& a, const HeapEntry& b) const {
  if (a.count != b.count) return a.count < b.count;
  if (!precedes_) return a.key > b.key;
  const auto pair_of = [](const HeapEntry& entry) {
    return Pair{pair_left(entry.key), pair_right(entry.key), static_cast<std::uint64_t>(entry.count)};
  };
  return precedes_(pair_of(b), pair_of(a));
}

void PairStatistics::merge(const Pair& pair, std::int32_t result) {
  const bool is_new = static_cast<std::size_t>(result) >= text_.lengths.size();
  const MergeStep step{.left = pair.left, .right = pair.right, .result = result, .is_new = is_new};
  raise_floor(static_cast<std::int64_t>(pair.count));
  if (!is_new) {
    // A pair that is aside knows the places of its first merge only.
    while (floor_ > min_count_) lower_floor();
    record_pairs(result, 1);
  }
  make_room(result);
  const auto length = [&](std::int32_t symbol) { return text_.lengths[static_cast<std::size_t>(symbol)]; };
  text_.lengths[static_cast<std::size_t>(result)] = length(pair.left) + length(pair.right);
  PairState& merged = state(pair.left, pair.right);
  const std::size_t places = collect_places(merged);
  merged = {};
  for_each_shard(places >= worth_sharing_, [&](std::size_t s) { shards_[s].merge(step, places_[s]); });
  apply(step);
}

/// Returns the number of positions.
std::size_t PairStatistics::collect_places(const PairState& pair) {
  for (auto& places : places_) places.clear();
  std::size_t count = 0;
  for (std::uint32_t s = pair.segment; s != kNoSegment; s = segments_[s].next) {
    places_[segments_[s].shard].push_back(segments_[s].places);
    count += segments_[s].places.size();
  }
  return count;
}

/// Returns the first segment of a list that continues with `next`.
std::uint32_t PairStatistics::add_segment(const PairShard::Places& places, std::size_t shard, std::uint32_t next) {
  segments_.push_back({places, static_cast<std::uint32_t>(shard), next});
  return static_cast<std::uint32_t>(segments_.size() - 1);
}

/// Adds the changes of all shards to the changes of the first one.
template <class SideOf>
void PairStatistics::sum_up(SideOf&& side_of) {
  PairShard::Side& first = side_of(shards_.front());
  for (std::size_t s = 1; s < shards_.size(); ++s) {
    const PairShard::Side& side = side_of(shards_[s]);
    for (const std::int32_t neighbour : side.touched()) {
      PairShard::Change& sum = first.at(neighbour);
      sum.lost += side[neighbour].lost;
      sum.gained += side[neighbour].gained;
    }
  }
}

/// Adds the occurrences that pairs with the result have gained on one side of it.
template <class SideOf, class KeyOf>
void PairStatistics::add_gained(const MergeStep& step, SideOf&& side_of, KeyOf&& key_of) {
  const PairShard::Side& sums = side_of(shards_.front());
  const std::vector<std::int32_t>& touched = sums.touched();
  for (std::size_t i = 0; i < touched.size(); ++i) {
    const std::int32_t neighbour = touched[i];
    const bool begins = std::any_of(shards_.begin(), shards_.end(),
                                    [&](PairShard& shard) { return side_of(shard)[neighbour].positions > 0; });
    if (!begins) continue;
    const std::uint64_t key = key_of(neighbour);
    const std::int64_t gained = sums[neighbour].gained;
    PairState* known = step.is_new ? nullptr : pairs_.find(key);
    if (gained < min_count_ && known == nullptr) continue;
    std::uint32_t segment = known == nullptr ? kNoSegment : known->segment;
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      const PairShard::Change& part = side_of(shards_[s])[neighbour];
      if (part.positions > 0) segment = add_segment(part.places(), s, segment);
    }
    if (step.is_new && gained < floor_ && neighbour != step.result) {
      aside_.push_back({gained, key, segment});
      continue;
    }
    PairState& pair = pairs_.at(key);
    pair.count += gained;
    pair.segment = segment;
    offer(key, pair.count);
  }
}

/// Subtracts the occurrences that pairs with the merged symbols have lost on one side, and clears that side for the
/// next step.
template <class SideOf, class KeyOf>
void PairStatistics::take_lost(SideOf&& side_of, KeyOf&& key_of) {
  const PairShard::Side& sums = side_of(shards_.front());
  const std::vector<std::int32_t>& touched = sums.touched();
  for (std::size_t i = 0; i < touched.size(); ++i) {
    if (i + kPairsAhead < touched.size()) pairs_.prefetch(key_of(touched[i + kPairsAhead]));
    const std::int64_t lost = sums[touched[i]].lost;
    if (lost == 0) continue;
    if (PairState* pair = pairs_.find(key_of(touched[i]))) pair->count -= lost;
  }
  for (PairShard& shard : shards_) side_of(shard).clear();
}

/// Gains are applied first. One position may gain what the next one loses (`abab`). A pair that was not recorded with
/// all its gains then has nothing to lose.
void PairStatistics::apply(const MergeStep& step) {
  const auto left = [](PairShard& shard) -> PairShard::Side& { return shard.left(); };
  const auto right = [](PairShard& shard) -> PairShard::Side& { return shard.right(); };
  sum_up(left);
  sum_up(right);
  add_gained(step, left, [&](std::int32_t neighbour) { return pair_key(neighbour, step.result); });
  add_gained(step, right, [&](std::int32_t neighbour) { return pair_key(step.result, neighbour); });
  take_lost(left, [&](std::int32_t neighbour) { return pair_key(neighbour, step.left); });
  take_lost(right, [&](std::int32_t neighbour) { return pair_key(step.right, neighbour); });
}

}  // namespace dragoman::tokenizer

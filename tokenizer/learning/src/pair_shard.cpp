#include "learning/pair_shard.h"

#include <algorithm>

#include <dragoman/core/error.h>
#include <dragoman/core/prefetch.h>

namespace dragoman::tokenizer {

PairShard::Change& PairShard::Side::at(std::int32_t neighbour) {
  Change& change = changes_[static_cast<std::size_t>(neighbour)];
  if (!change.touched) {
    change.touched = true;
    touched_.push_back(neighbour);
  }
  return change;
}

void PairShard::Side::add_begin(std::int32_t neighbour, std::uint32_t cell) {
  ++at(neighbour).positions;
  begins_.emplace_back(neighbour, cell);
}

void PairShard::Side::replace(std::int32_t neighbour, std::uint32_t cell, std::int64_t weight) {
  Change& change = at(neighbour);
  change.lost += weight;
  change.gained += weight;
  ++change.positions;
  begins_.emplace_back(neighbour, cell);
}

void PairShard::Side::clear() {
  for (const std::int32_t neighbour : touched_) changes_[static_cast<std::size_t>(neighbour)] = {};
  touched_.clear();
  begins_.clear();
}

PairShard::PairShard(MergeText& text, std::uint32_t begin, std::uint32_t end)
    : text_(text), cells_(text.cells), begin_(begin), end_(end) {}

void PairShard::make_room(std::size_t symbols) {
  left_.make_room(symbols);
  right_.make_room(symbols);
}

PairMap<PairShard::PairPlaces> PairShard::index_pairs(std::optional<std::int32_t> with) {
  PairMap<PairPlaces> pairs;
  const core::PageVector<std::uint32_t> numbers = number_pairs(pairs, with);
  std::vector<std::uint32_t> cursor(pairs.size() + 1, 0);
  for (const std::uint32_t number : numbers)
    if (number != kUncounted) ++cursor[number + 1];
  cursor[0] = static_cast<std::uint32_t>(positions_.size());
  for (std::size_t i = 1; i < cursor.size(); ++i) cursor[i] += cursor[i - 1];
  // Memory that is reserved but not touched costs nothing, while growing would briefly hold the list twice. Merges add
  // about the same number of positions again, and never more than twice this number.
  if (positions_.empty()) positions_.reserve(std::size_t{cursor.back()} * 3);
  positions_.resize(cursor.back());
  pairs.for_each([&](std::uint64_t, PairPlaces& pair) {
    const std::uint32_t number = pair.places.begin;
    pair.places = {cursor[number], cursor[number + 1]};
  });
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != kUncounted) positions_[cursor[numbers[i]]++] = begin_ + static_cast<std::uint32_t>(i);
  return pairs;
}

/// Numbers the pairs in the order of their first occurrence, and stores the numbers instead of their positions. Returns
/// the number of the pair that begins at each cell.
core::PageVector<std::uint32_t> PairShard::number_pairs(PairMap<PairPlaces>& pairs, std::optional<std::int32_t> with) {
  constexpr std::uint32_t kCellsAhead = 12;
  core::PageVector<std::uint32_t> numbers(end_ - begin_, kUncounted);
  bool overlaps = false;  // with the occurrence counted at the previous symbol
  std::uint32_t next = 0;
  for (std::uint32_t cell = begin_; cell + 1 < end_; cell = next) {
    // Correct for symbols of one cell. When all pairs are counted, all symbols have one cell.
    if (cell + kCellsAhead + 1 < end_)
      pairs.prefetch(pair_key(cells_[cell + kCellsAhead], cells_[cell + kCellsAhead + 1]));
    const std::int32_t left = cells_[cell];
    next = cell + (left < 0 ? 1 : length(left));
    const std::int32_t right = next < end_ ? cells_[next] : kBarrierCell;
    if (left < 0 || right < 0 || (with && left != *with && right != *with)) {
      overlaps = false;
      continue;
    }
    PairPlaces& pair = pairs.at(pair_key(left, right));
    if (pair.places.begin == kUncounted) pair.places.begin = static_cast<std::uint32_t>(pairs.size() - 1);
    numbers[cell - begin_] = pair.places.begin;
    const bool counts = left != right || !overlaps;
    if (counts) pair.count += weight_at(cell);
    overlaps = left == right && counts;
  }
  return numbers;
}

/// Calls body(cell) wherever the pair still begins at one of the places, from left to right.
template <class Body>
void PairShard::for_each_occurrence(std::int32_t left, std::int32_t right, std::span<const Places> places,
                                    Body&& body) {
  // The positions are far apart but known. Without prefetching, waiting for memory would dominate.
  constexpr std::size_t kCellsAhead = 16;
  const std::span<const std::uint32_t> positions = in_order(places);
  for (std::size_t i = 0; i < std::min(kCellsAhead, positions.size()); ++i) core::prefetch(&cells_[positions[i]]);
  const std::uint32_t size = length(left);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (i + kCellsAhead < positions.size()) core::prefetch(&cells_[positions[i + kCellsAhead]]);
    if (cells_[positions[i]] == left && cells_[positions[i] + size] == right) body(positions[i]);
  }
}

void PairShard::merge(const MergeStep& step, std::span<const Places> places) {
  run_end_ = 0;
  run_length_ = 0;
  if (step.left == step.right)
    for_each_occurrence(step.left, step.right, places, [&](std::uint32_t cell) { merge_run(step, cell); });
  else
    for_each_occurrence(step.left, step.right, places, [&](std::uint32_t cell) { merge_pair(step, cell); });
  file_positions(left_);
  file_positions(right_);
}

std::int64_t PairShard::count(std::int32_t left, std::int32_t right, std::span<const Places> places) {
  // No place is listed twice: symbols only grow, so a pair that a place has lost never returns to it.
  std::int64_t sum = 0;
  for_each_occurrence(left, right, places, [&](std::uint32_t cell) { sum += weight_at(cell); });
  return sum;
}

/// Returns the positions in ascending order, i.e. from left to right.
std::span<const std::uint32_t> PairShard::in_order(std::span<const Places> places) {
  const auto cells_of = [&](const Places& some) { return std::span(positions_).subspan(some.begin, some.size()); };
  if (places.empty()) return {};
  if (places.size() == 1) return cells_of(places.front());
  gathered_.clear();
  for (const Places& some : places) {
    const auto cells = cells_of(some);
    gathered_.insert(gathered_.end(), cells.begin(), cells.end());
  }
  std::sort(gathered_.begin(), gathered_.end());
  return gathered_;
}

void PairShard::merge_pair(const MergeStep& step, std::uint32_t cell) {
  const std::int64_t weight = weight_at(cell);
  const std::uint32_t middle = cell + length(step.left);
  const std::uint32_t end = middle + length(step.right);
  const std::int32_t before = cells_[cell - 1];
  const std::int32_t after = cells_[end];
  if (before != step.left && before != step.result && after != step.right && after != step.result) {
    write_symbol(cell, middle, step.result);
    if (before != kBarrierCell) left_.replace(before, cell - length(before), weight);
    if (after != kBarrierCell) right_.replace(after, cell, weight);
    return;
  }
  lose_left(step, cell, weight);
  lose_right(step, end, weight);
  write_symbol(cell, middle, step.result);
  gain_left(step, cell, weight);
  gain_right(step, end, weight);
  gain_repeats(step, cell, 1, weight);
}

/// Merges the whole run of equal symbols around the cell in pairs. The last symbol of an odd run remains.
void PairShard::merge_run(const MergeStep& step, std::uint32_t cell) {
  const std::int64_t weight = weight_at(cell);
  const std::uint32_t size = length(step.left);
  const std::uint32_t begin = cell - run_before(cell, step.left) * size;
  const std::uint32_t run = run_from(begin, step.left);
  const std::uint32_t made = run / 2;
  const std::uint32_t end = begin + made * 2 * size;
  lose_left(step, begin, weight);
  if (run % 2 == 0) lose_right(step, end, weight);
  for (std::uint32_t at = begin; at < end; at += 2 * size) write_symbol(at, at + size, step.result);
  gain_left(step, begin, weight);
  gain_right(step, end, weight);
  gain_repeats(step, begin, made, weight);
}

/// Records the pairs lost with the neighbour before a merged pair. Removing one symbol from a run of k loses a pair
/// only if k is even.
void PairShard::lose_left(const MergeStep& step, std::uint32_t begin, std::int64_t weight) {
  const std::int32_t neighbour = cells_[begin - 1];
  if (neighbour == kBarrierCell) return;
  const bool keeps = neighbour == step.left && run_before(begin, neighbour) % 2 == 0;
  if (!keeps) left_.at(neighbour).lost += weight;
}

void PairShard::lose_right(const MergeStep& step, std::uint32_t end, std::int64_t weight) {
  const std::int32_t neighbour = cells_[end];
  if (neighbour == kBarrierCell) return;
  const bool keeps = neighbour == step.right && run_from(end, neighbour) % 2 == 0;
  if (!keeps) right_.at(neighbour).lost += weight;
}

void PairShard::gain_left(const MergeStep& step, std::uint32_t begin, std::int64_t weight) {
  const std::int32_t neighbour = cells_[begin - 1];
  if (neighbour == kBarrierCell || neighbour == step.result) return;
  left_.at(neighbour).gained += weight;
  left_.add_begin(neighbour, begin - length(neighbour));
}

void PairShard::gain_right(const MergeStep& step, std::uint32_t end, std::int64_t weight) {
  const std::int32_t neighbour = cells_[end];
  if (neighbour == kBarrierCell || neighbour == step.result) return;
  right_.at(neighbour).gained += weight;
  right_.add_begin(neighbour, end - length(step.result));
}

/// Records pairs of the result with itself. The `made` results from `begin` on may join others on both sides.
void PairShard::gain_repeats(const MergeStep& step, std::uint32_t begin, std::uint32_t made, std::int64_t weight) {
  const std::int32_t result = step.result;
  const std::uint32_t size = length(result);
  const std::uint32_t end = begin + made * size;
  // Scanning back over the results of this step would take quadratic time on a long repetition.
  const std::uint32_t before = cells_[begin - 1] != result ? 0
                               : begin == run_end_         ? run_length_
                                                           : run_before(begin, result);
  const std::uint32_t after = cells_[end] == result ? run_from(end, result) : 0;
  run_end_ = end;
  run_length_ = before + made;
  if (before + made + after < 2) return;
  left_.at(result).gained += weight * ((before + made + after) / 2 - before / 2 - after / 2);
  if (before > 0) left_.add_begin(result, begin - size);
  for (std::uint32_t i = 1; i < made + (after > 0 ? 1 : 0); ++i) left_.add_begin(result, begin + (i - 1) * size);
}

/// Marks [begin, end of the symbol) as one symbol, whose right part began at `middle`.
void PairShard::write_symbol(std::uint32_t begin, std::uint32_t middle, std::int32_t symbol) {
  cells_[middle] = kSwallowed;
  cells_[begin] = symbol;
  cells_[begin + length(symbol) - 1] = symbol;
}

std::uint32_t PairShard::run_before(std::uint32_t cell, std::int32_t symbol) const {
  std::uint32_t run = 0;
  for (; cells_[cell - 1] == symbol; cell -= length(symbol)) ++run;
  return run;
}

std::uint32_t PairShard::run_from(std::uint32_t cell, std::int32_t symbol) const {
  std::uint32_t run = 0;
  for (; cells_[cell] == symbol; cell += length(symbol)) ++run;
  return run;
}

std::int64_t PairShard::weight_at(std::uint32_t cell) {
  const auto holds = [&](std::size_t i) {
    return text_.weights[i].begin <= cell && (i + 1 == text_.weights.size() || cell < text_.weights[i + 1].begin);
  };
  if (!holds(weight_)) {
    const auto after = std::upper_bound(text_.weights.begin(), text_.weights.end(), cell,
                                        [](std::uint32_t value, const auto& entry) { return value < entry.begin; });
    weight_ = static_cast<std::size_t>(after - text_.weights.begin()) - 1;
  }
  return text_.weights[weight_].weight;
}

/// Appends the new positions to the list, grouped by neighbour. The positions for one neighbour are adjacent and in
/// order, and its Change stores where they end.
void PairShard::file_positions(Side& side) {
  core::require(positions_.size() + side.begins_.size() < kMaxCells, core::ErrorCode::kBadInput,
                "the corpus is too large: more than {} places of pairs; learn from a sample of its lines", kMaxCells);
  auto place = static_cast<std::uint32_t>(positions_.size());
  positions_.resize(positions_.size() + side.begins_.size());
  for (const std::int32_t neighbour : side.touched_) {
    Change& change = side.changes_[static_cast<std::size_t>(neighbour)];
    change.place = place;
    place += change.positions;
  }
  for (const auto& [neighbour, cell] : side.begins_)
    positions_[side.changes_[static_cast<std::size_t>(neighbour)].place++] = cell;
}

}  // namespace dragoman::tokenizer

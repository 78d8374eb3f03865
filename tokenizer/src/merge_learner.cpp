#include "merge_learner.h"

#include <algorithm>

#include <dragoman/core/error.h>

namespace dragoman::tokenizer {
namespace {

/// How far ahead of its turn a pair is fetched from memory.
constexpr std::size_t kPairsAhead = 8;

}  // namespace

MergeLearner::Change& MergeLearner::Side::at(std::int32_t neighbour) {
  Change& change = changes[static_cast<std::size_t>(neighbour)];
  if (!change.touched) {
    change.touched = true;
    touched.push_back(neighbour);
  }
  return change;
}

void MergeLearner::Side::add_begin(std::int32_t neighbour, std::uint32_t cell) {
  ++at(neighbour).positions;
  begins.emplace_back(neighbour, cell);
}

void MergeLearner::Side::clear() {
  for (const std::int32_t neighbour : touched) changes[static_cast<std::size_t>(neighbour)] = {};
  touched.clear();
  begins.clear();
}

MergeLearner::MergeLearner(Text text, std::uint64_t min_count)
    : min_count_(static_cast<std::int64_t>(std::max<std::uint64_t>(min_count, 1))),
      cells_(std::move(text.cells)),
      weights_(std::move(text.weights)) {
  build_index();
}

void MergeLearner::make_room(std::int32_t symbol) {
  const std::size_t size = static_cast<std::size_t>(symbol) + 1;
  if (size <= lengths_.size()) return;
  lengths_.resize(size, 1);
  left_.changes.resize(size);
  right_.changes.resize(size);
}

void MergeLearner::build_index() {
  make_room(std::max(0, *std::max_element(cells_.begin(), cells_.end())));
  const core::PageVector<std::uint32_t> numbers = initial_numbers();
  std::vector<std::uint32_t> cursor(pairs_.size() + 1, 0);
  for (const std::uint32_t number : numbers)
    if (number != kNoSegment) ++cursor[number + 1];
  for (std::size_t i = 1; i < cursor.size(); ++i) cursor[i] += cursor[i - 1];
  positions_.resize(cursor.back());
  for (std::size_t number = 0; number < pairs_.size(); ++number)
    segments_.push_back({cursor[number], cursor[number + 1], kNoSegment});
  for (std::size_t cell = 0; cell < numbers.size(); ++cell)
    if (numbers[cell] != kNoSegment) positions_[cursor[numbers[cell]]++] = static_cast<std::uint32_t>(cell);
  pairs_.for_each([&](std::uint64_t key, const PairState& pair) {
    if (pair.count >= min_count_) heap_.push_back({pair.count, key});
  });
  std::make_heap(heap_.begin(), heap_.end());
}

/// Counts the pairs of neighbouring cells; returns for each cell the number of the pair that begins there, which is
/// also that of its first segment.
core::PageVector<std::uint32_t> MergeLearner::initial_numbers() {
  core::PageVector<std::uint32_t> numbers(cells_.size(), kNoSegment);
  bool overlaps = false;  // with the occurrence counted at the cell before
  for (std::uint32_t cell = 1; cell + 1 < cells_.size(); ++cell) {
    const std::int32_t left = cells_[cell];
    const std::int32_t right = cells_[cell + 1];
    if (left < 0 || right < 0) {
      overlaps = false;
      continue;
    }
    PairState& pair = state(left, right);
    if (pair.segment == kNoSegment) pair.segment = static_cast<std::uint32_t>(pairs_.size() - 1);
    numbers[cell] = pair.segment;
    const bool counts = left != right || !overlaps;
    if (counts) pair.count += weight_at(cell);
    overlaps = left == right && counts;
  }
  return numbers;
}

std::optional<MergeLearner::Pair> MergeLearner::pop_best() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const HeapEntry top = heap_.back();
    heap_.pop_back();
    const std::int32_t left = pair_left(top.key);
    const std::int32_t right = pair_right(top.key);
    const std::int64_t count = state(left, right).count;
    if (count == top.count) return Pair{left, right, static_cast<std::uint64_t>(count)};
    offer(top.key, count);
  }
  return std::nullopt;
}

void MergeLearner::offer(std::uint64_t key, std::int64_t count) {
  if (count < min_count_) return;
  heap_.push_back({count, key});
  std::push_heap(heap_.begin(), heap_.end());
}

void MergeLearner::merge(const Pair& pair, std::int32_t result) {
  Step step{.left = pair.left, .right = pair.right, .result = result};
  make_room(result);
  lengths_[static_cast<std::size_t>(result)] = length(pair.left) + length(pair.right);
  // The places are far apart, but known: without fetching them ahead, waiting for memory would be most of the work.
  constexpr std::size_t kCellsAhead = 16;
  const std::span<const std::uint32_t> positions = positions_of(state(pair.left, pair.right));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (i + kCellsAhead < positions.size()) __builtin_prefetch(&cells_[positions[i + kCellsAhead]]);
    const std::uint32_t cell = positions[i];
    if (cells_[cell] != pair.left || cells_[cell + length(pair.left)] != pair.right) continue;
    if (pair.left == pair.right)
      merge_run(step, cell);
    else
      merge_pair(step, cell);
  }
  state(pair.left, pair.right) = {};
  apply_left(step);
  apply_right(step);
}

/// In ascending order, which is what left to right means.
std::span<const std::uint32_t> MergeLearner::positions_of(const PairState& pair) {
  if (pair.segment == kNoSegment) return {};
  const auto cells_of = [&](const Segment& segment) {
    return std::span(positions_).subspan(segment.begin, segment.end - segment.begin);
  };
  const Segment& newest = segments_[pair.segment];
  if (newest.next == kNoSegment) return cells_of(newest);
  gathered_.clear();
  for (std::uint32_t s = pair.segment; s != kNoSegment; s = segments_[s].next) {
    const auto cells = cells_of(segments_[s]);
    gathered_.insert(gathered_.end(), cells.begin(), cells.end());
  }
  std::sort(gathered_.begin(), gathered_.end());
  return gathered_;
}

void MergeLearner::merge_pair(Step& step, std::uint32_t cell) {
  const std::int64_t weight = weight_at(cell);
  const std::uint32_t middle = cell + length(step.left);
  const std::uint32_t end = middle + length(step.right);
  lose_left(step, cell, weight);
  lose_right(step, end, weight);
  write_symbol(cell, middle, step.result);
  gain_left(step, cell, weight);
  gain_right(step, end, weight);
  gain_repeats(step, cell, 1, weight);
}

/// Merges the whole run of equal symbols around the cell, two by two; the last one of an odd run stays.
void MergeLearner::merge_run(Step& step, std::uint32_t cell) {
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

/// What is lost with the neighbour before a merged pair. Taking one symbol off a run of k loses a pair only if k is
/// even.
void MergeLearner::lose_left(const Step& step, std::uint32_t begin, std::int64_t weight) {
  const std::int32_t neighbour = cells_[begin - 1];
  if (neighbour == kBarrier) return;
  const bool keeps = neighbour == step.left && run_before(begin, neighbour) % 2 == 0;
  if (!keeps) left_.at(neighbour).lost += weight;
}

void MergeLearner::lose_right(const Step& step, std::uint32_t end, std::int64_t weight) {
  const std::int32_t neighbour = cells_[end];
  if (neighbour == kBarrier) return;
  const bool keeps = neighbour == step.right && run_from(end, neighbour) % 2 == 0;
  if (!keeps) right_.at(neighbour).lost += weight;
}

void MergeLearner::gain_left(const Step& step, std::uint32_t begin, std::int64_t weight) {
  const std::int32_t neighbour = cells_[begin - 1];
  if (neighbour == kBarrier || neighbour == step.result) return;
  left_.at(neighbour).gained += weight;
  left_.add_begin(neighbour, begin - length(neighbour));
}

void MergeLearner::gain_right(const Step& step, std::uint32_t end, std::int64_t weight) {
  const std::int32_t neighbour = cells_[end];
  if (neighbour == kBarrier || neighbour == step.result) return;
  right_.at(neighbour).gained += weight;
  right_.add_begin(neighbour, end - length(step.result));
}

/// The pair of the result with itself, where results that were `made` from `begin` on may join others on both sides.
void MergeLearner::gain_repeats(Step& step, std::uint32_t begin, std::uint32_t made, std::int64_t weight) {
  const std::int32_t result = step.result;
  const std::uint32_t size = length(result);
  const std::uint32_t end = begin + made * size;
  // Walking back over what this step has just made would take quadratic time on a long repetition.
  const std::uint32_t before = cells_[begin - 1] != result ? 0
                               : begin == step.run_end     ? step.run_length
                                                           : run_before(begin, result);
  const std::uint32_t after = cells_[end] == result ? run_from(end, result) : 0;
  step.run_end = end;
  step.run_length = before + made;
  if (before + made + after < 2) return;
  left_.at(result).gained += weight * ((before + made + after) / 2 - before / 2 - after / 2);
  if (before > 0) left_.add_begin(result, begin - size);
  for (std::uint32_t i = 1; i < made + (after > 0 ? 1 : 0); ++i) left_.add_begin(result, begin + (i - 1) * size);
}

/// Marks [begin, end of the symbol) as one symbol, whose right part began at `middle`.
void MergeLearner::write_symbol(std::uint32_t begin, std::uint32_t middle, std::int32_t symbol) {
  cells_[middle] = kSwallowed;
  cells_[begin] = symbol;
  cells_[begin + length(symbol) - 1] = symbol;
}

std::uint32_t MergeLearner::run_before(std::uint32_t cell, std::int32_t symbol) const {
  std::uint32_t run = 0;
  for (; cells_[cell - 1] == symbol; cell -= length(symbol)) ++run;
  return run;
}

std::uint32_t MergeLearner::run_from(std::uint32_t cell, std::int32_t symbol) const {
  std::uint32_t run = 0;
  for (; cells_[cell] == symbol; cell += length(symbol)) ++run;
  return run;
}

std::int64_t MergeLearner::weight_at(std::uint32_t cell) {
  const auto holds = [&](std::size_t i) {
    return weights_[i].begin <= cell && (i + 1 == weights_.size() || cell < weights_[i + 1].begin);
  };
  if (!holds(weight_)) {
    const auto after = std::upper_bound(weights_.begin(), weights_.end(), cell,
                                        [](std::uint32_t value, const auto& entry) { return value < entry.begin; });
    weight_ = static_cast<std::size_t>(after - weights_.begin()) - 1;
  }
  return weights_[weight_].weight;
}

void MergeLearner::apply_left(const Step& step) {
  add_positions(left_);
  for (std::size_t i = 0; i < left_.touched.size(); ++i) {
    if (i + kPairsAhead < left_.touched.size()) {
      const std::int32_t coming = left_.touched[i + kPairsAhead];
      pairs_.prefetch(pair_key(coming, step.left));
      pairs_.prefetch(pair_key(coming, step.result));
    }
    const std::int32_t neighbour = left_.touched[i];
    const Change& change = left_.changes[static_cast<std::size_t>(neighbour)];
    if (change.lost > 0) state(neighbour, step.left).count -= change.lost;
    update(neighbour, step.result, change);
  }
  left_.clear();
}

void MergeLearner::apply_right(const Step& step) {
  add_positions(right_);
  for (std::size_t i = 0; i < right_.touched.size(); ++i) {
    if (i + kPairsAhead < right_.touched.size()) {
      const std::int32_t coming = right_.touched[i + kPairsAhead];
      pairs_.prefetch(pair_key(step.right, coming));
      pairs_.prefetch(pair_key(step.result, coming));
    }
    const std::int32_t neighbour = right_.touched[i];
    const Change& change = right_.changes[static_cast<std::size_t>(neighbour)];
    if (change.lost > 0) state(step.right, neighbour).count -= change.lost;
    update(step.result, neighbour, change);
  }
  right_.clear();
}

/// Files the new beginnings by neighbour at the end of the positions: those of one neighbour lie together afterwards,
/// in their order, and end where its Change says.
void MergeLearner::add_positions(Side& side) {
  core::require(positions_.size() + side.begins.size() < kMaxCells, core::ErrorCode::kBadInput,
                "the corpus is too large: more than {} places of pairs; learn from a sample of its lines", kMaxCells);
  auto place = static_cast<std::uint32_t>(positions_.size());
  positions_.resize(positions_.size() + side.begins.size());
  for (const std::int32_t neighbour : side.touched) {
    Change& change = side.changes[static_cast<std::size_t>(neighbour)];
    change.place = place;
    place += change.positions;
  }
  for (const auto& [neighbour, cell] : side.begins)
    positions_[side.changes[static_cast<std::size_t>(neighbour)].place++] = cell;
}

void MergeLearner::update(std::int32_t left, std::int32_t right, const Change& change) {
  if (change.positions == 0) return;
  PairState& pair = state(left, right);
  pair.count += change.gained;
  segments_.push_back({change.place - change.positions, change.place, pair.segment});
  pair.segment = static_cast<std::uint32_t>(segments_.size() - 1);
  offer(pair_key(left, right), pair.count);
}

}  // namespace dragoman::tokenizer

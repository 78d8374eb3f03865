#include "access.h"

#include <cmath>

// Decisions of searches that are made on the device.
namespace dragoman::backend::cuda::device {
namespace {

constexpr std::int32_t kNoRow = 0x7FFFFFFF;

/// One warp for each choice. A row's candidates are in order, so the best of all is the first remaining candidate of
/// some row.
struct ChooseInWarp {
  ChooseNext arguments;

  SIMT_DEVICE bool possible(std::int64_t row, std::int32_t rank) const {
    return at(arguments.candidates, row, rank) != arguments.end &&
           at(arguments.log_probabilities, row, rank) > -INFINITY;
  }
  SIMT_DEVICE std::int32_t possible_from(const ops::NextRows& next, std::int64_t row, std::int32_t rank) const {
    while (rank < next.candidates && !possible(row, rank)) ++rank;
    return rank;
  }

  SIMT_DEVICE void operator()() const {
    const ChooseNext& a = arguments;
    const ops::NextRows next = a.choices[simt::block_index()];
    const int lane = simt::thread_index();
    simt::SharedMemory memory;
    const auto firsts = memory.take<std::int32_t>(a.most_rows);  // each belongs to one lane
    for (int i = lane; i < next.rows; i += kWarp) firsts[i] = possible_from(next, next.first_row + i, 0);
    for (std::int32_t n = next.first_next; n < next.first_next + next.next; ++n) {
      double most = -INFINITY;
      std::int32_t best = kNoRow;
      for (int i = lane; i < next.rows; i += kWarp) {
        const std::int32_t first = firsts[i];
        if (first == next.candidates) continue;
        const std::int64_t row = next.first_row + i;
        const double total = a.sums[row] + at(a.log_probabilities, row, first);
        if (best != kNoRow && total <= most) continue;
        most = total;
        best = i;
      }
      for (int mask = kWarp / 2; mask > 0; mask /= 2) {
        const double other_most = simt::shuffle_xor(most, mask);
        const std::int32_t other = simt::shuffle_xor(best, mask);
        const bool better = best == kNoRow || other_most > most || (other_most == most && other < best);
        if (other == kNoRow || !better) continue;
        most = other_most;
        best = other;
      }
      if (lane != (best == kNoRow ? 0 : best % kWarp)) continue;
      a.tokens[n] = a.end;
      a.parents[n] = next.first_row;
      if (best == kNoRow) continue;
      const std::int64_t row = next.first_row + best;
      const std::int32_t first = firsts[best];
      a.tokens[n] = at(a.candidates, row, first);
      a.parents[n] = static_cast<std::int32_t>(row);
      firsts[best] = possible_from(next, row, first + 1);
    }
  }
};

struct ExtendList {
  ExtendLists arguments;

  SIMT_DEVICE void operator()() const {
    const ExtendLists& a = arguments;
    const std::int64_t r = simt::block_index();
    const std::int32_t parent = a.parents.data[r];
    const std::int32_t begin = a.offsets[r];
    const std::int32_t count = a.offsets[r + 1] - begin;
    const std::int32_t of_parent = count - (a.added_offsets[r + 1] - a.added_offsets[r]);
    for (std::int32_t i = simt::thread_index(); i < count; i += kThreads) {
      const std::int32_t entry =
          i < of_parent ? a.before[a.before_offsets[parent] + i] : a.added[a.added_offsets[r] + i - of_parent];
      a.lists[begin + i] = entry;
      a.kept[begin + i] = entry;
    }
  }
};

}  // namespace

void choose_next(const ChooseNext& arguments, std::int64_t choices) {
  simt::launch({choices}, kWarp, static_cast<std::size_t>(arguments.most_rows) * sizeof(std::int32_t) + 16,
               ChooseInWarp{arguments});
}

void extend_lists(const ExtendLists& arguments) {
  for_each_row(arguments.parents.count, 0, ExtendList{arguments});
}

}  // namespace dragoman::backend::cuda::device

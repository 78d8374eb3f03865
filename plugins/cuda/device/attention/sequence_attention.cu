#include "row_attention.h"

// Attention within ragged sequences without stored weights and without dropout, in fp32. A block has one head of
// consecutive queries. They read the keys and values of their sequence from the cache after the first time.
namespace dragoman::backend::cuda::device {
namespace {

/// sequence_of() computed by all lanes of a warp for the same row, 32 positions at a time.
SIMT_DEVICE std::int64_t sequence_of_warp(const Ids& offsets, std::int32_t row) {
  auto span = static_cast<int>(offsets.count) - 1;
  int low = 0;
  while (span > 1) {
    const int step = (span + kWarp - 1) / kWarp;
    const int place = lane() * step;
    const bool begins_before = place < span && offsets.data[low + place] <= row;
    const auto passed = static_cast<int>(simt::reduce_max(begins_before ? static_cast<std::uint32_t>(place) : 0U));
    low += passed;
    span = span - passed < step ? span - passed : step;
  }
  return low;
}

template <bool kWhole>
struct AttendInSequences {
  Attention attention;
  int width;
  KeyLanes lanes;

  SIMT_DEVICE void operator()() const {
    const auto [head, row] = head_of_row(attention.heads);
    if (row >= attention.q.rows) return;
    RowAttention<Floats, kWhole> own(lanes, width, head_pool(Floats(), attention.q, head, width), row);
    if (row < attention.q_offsets.data[attention.q_offsets.count - 1]) {
      const Sequence of = sequence(attention, sequence_of_warp(attention.q_offsets, row), head);
      const std::int64_t query = row - of.first_query;
      const auto first_key = static_cast<std::int32_t>(of.first_key);
      const auto bias = [&](int j) { return bias_of(attention.bias, j, query + of.keys - of.queries, head); };
      own.attend(
          static_cast<int>(visible_keys(attention, of, query)), attention.scale,
          head_pool(Floats(), attention.k, head, width), head_pool(Floats(), attention.v, head, width),
          [&](int j) { return first_key + j; }, bias, nullptr);
      if (attention.log_sums != nullptr && lane() == 0)
        attention.log_sums[std::int64_t{row} * attention.heads + head] = own.log_sum();
    }
    own.store(&at(attention.y, row, std::int64_t{head} * width));
  }
};

}  // namespace

void attention_of_rows(const Attention& arguments) {
  const std::int64_t width = arguments.q.cols / arguments.heads;
  const KeyLanes lanes{key_lanes_log(width)};
  const simt::Grid grid{blocks_of(arguments.q.rows, kWarps) * arguments.heads};
  const auto own_width = static_cast<int>(width);
  if (is_whole(arguments.q, width) && is_whole(arguments.k, width) && is_whole(arguments.v, width))
    simt::launch(grid, kThreads, 0, AttendInSequences<true>{arguments, own_width, lanes});
  else
    simt::launch(grid, kThreads, 0, AttendInSequences<false>{arguments, own_width, lanes});
}

}  // namespace dragoman::backend::cuda::device

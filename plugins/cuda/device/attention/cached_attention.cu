#include "row_attention.h"

// A decoder's attention to cached keys and values, which are scattered in a pool. A block has one head of consecutive
// rows, such as the hypotheses of a sentence. Keys that several of them share are read from the cache after the first
// time.
namespace dragoman::backend::cuda::device {
namespace {

template <class Numbers, bool kWhole>
struct Cached {
  using Pool = View<typename ElementOf<Numbers>::Type>;
  CachedAttention attention;
  Pool keys;
  Pool values;
  int width;
  KeyLanes lanes;

  SIMT_DEVICE void operator()() const {
    const auto [head, row] = head_of_row(attention.heads);
    if (row >= attention.q.rows) return;
    const ops::KeyRange range = attention.ranges[row];
    const std::int32_t* const rows = attention.key_rows + range.begin;
    float* const weights = attention.probabilities.data == nullptr
                               ? nullptr
                               : &at(attention.probabilities, row, std::int64_t{head} * range.count);
    const auto bias = [&](int j) { return bias_of(attention.bias, j, range.count - 1, head); };
    RowAttention<Numbers, kWhole> own(lanes, width, head_pool(Floats(), attention.q, head, width), row);
    own.attend(
        range.count, attention.scale, head_pool(Numbers(), keys, head, width),
        head_pool(Numbers(), values, head, width), [&](int j) { return rows[j]; }, bias, weights);
    own.store(&at(attention.y, row, head * width));
    if (weights != nullptr) own.finish_weights(range.count, weights);
  }
};

template <class Numbers, class Pool>
void attend(const CachedAttention& arguments, const Pool& keys, const Pool& values) {
  const std::int64_t width = arguments.q.cols / arguments.heads;
  const KeyLanes lanes{key_lanes_log(width)};
  const simt::Grid grid{blocks_of(arguments.q.rows, kWarps) * arguments.heads};
  const auto own_width = static_cast<int>(width);
  if (is_whole(arguments.q, width) && is_whole(keys, width) && is_whole(values, width))
    simt::launch(grid, kThreads, 0, Cached<Numbers, true>{arguments, keys, values, own_width, lanes});
  else
    simt::launch(grid, kThreads, 0, Cached<Numbers, false>{arguments, keys, values, own_width, lanes});
}

}  // namespace

void cached_attention(const CachedAttention& arguments) {
  if (arguments.keys.data != nullptr) return attend<Floats>(arguments, arguments.keys, arguments.values);
  with_words(arguments.narrow_type,
             [&]<class Words>(Words) { attend<Words>(arguments, arguments.narrow_keys, arguments.narrow_values); });
}

}  // namespace dragoman::backend::cuda::device

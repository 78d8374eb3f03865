#include "access.h"

namespace dragoman::backend::cuda::device {
namespace {

/// A block scans the sequences' numbers of weights. Each thread adds up the numbers of several consecutive sequences.
struct WeightOffsets {
  Ids q_offsets;
  Ids k_offsets;
  int heads;
  std::int64_t* offsets;

  SIMT_DEVICE std::int64_t weights_of(std::int64_t sequence) const {
    const std::int64_t queries = q_offsets.data[sequence + 1] - q_offsets.data[sequence];
    return heads * queries * (k_offsets.data[sequence + 1] - k_offsets.data[sequence]);
  }

  SIMT_DEVICE void operator()() const {
    simt::SharedMemory memory;
    const auto sums = memory.take<std::int64_t>(kWarps);
    const int lane = simt::thread_index() % kWarp;
    const int warp = simt::thread_index() / kWarp;
    const std::int64_t sequences = q_offsets.count - 1;
    const std::int64_t share = (sequences + kThreads - 1) / kThreads;
    const std::int64_t first = least(simt::thread_index() * share, sequences);
    const std::int64_t end = least(first + share, sequences);
    std::int64_t own = 0;
    for (std::int64_t b = first; b < end; ++b) own += weights_of(b);
    std::int64_t sum = own;  // becomes the sum over the lanes up to this one
    for (int step = 1; step < kWarp; step *= 2) {
      const std::int64_t before = simt::shuffle(sum, lane < step ? lane : lane - step);
      if (lane >= step) sum += before;
    }
    if (lane == kWarp - 1) sums[warp] = sum;
    simt::barrier();
    sum -= own;
    for (int w = 0; w < warp; ++w) sum += sums[w];
    for (std::int64_t b = first; b < end; ++b) {
      offsets[b] = sum;
      sum += weights_of(b);
    }
  }
};

}  // namespace

void weight_offsets(const Ids& q_offsets, const Ids& k_offsets, int heads, std::int64_t* offsets) {
  simt::launch({1}, kThreads, kWarps * sizeof(std::int64_t), WeightOffsets{q_offsets, k_offsets, heads, offsets});
}

}  // namespace dragoman::backend::cuda::device

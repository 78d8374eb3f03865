#include "access.h"
#include "scan.h"

namespace dragoman::ssru::device {
namespace {

namespace simt = backend::cuda::simt;
using namespace backend::cuda::device;

/// A thread for each column of each sequence, which goes from token to token: neighbours read neighbouring memory.
struct Place {
  std::int64_t sequence;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t column;
};
SIMT_DEVICE Place place_of(const Ids& offsets, std::int64_t width) {
  const std::int64_t parts = (width + kThreads - 1) / kThreads;
  const std::int64_t sequence = simt::block_index() / parts;
  return {sequence, offsets.data[sequence], offsets.data[sequence + 1],
          simt::block_index() % parts * kThreads + simt::thread_index()};
}
template <class Kernel>
void for_each_column(const Ids& offsets, std::int64_t width, const Kernel& kernel) {
  simt::launch({(offsets.count - 1) * blocks_of(width, kThreads)}, kThreads, 0, kernel);
}

struct Forward {
  Scan scan;
  SIMT_DEVICE void operator()() const {
    const auto [sequence, begin, end, j] = place_of(scan.offsets, scan.candidates.cols);
    if (j >= scan.candidates.cols) return;
    float cell = scan.initial.data == nullptr ? 0 : at(scan.initial, sequence, j);
    for (std::int64_t t = begin; t < end; ++t) {
      const float f = at(scan.forget, t, j);
      cell = f * cell + (1 - f) * at(scan.candidates, t, j);
      at(scan.cells, t, j) = cell;
    }
    if (scan.latest.data != nullptr) at(scan.latest, sequence, j) = cell;
  }
};

struct Backward {
  ScanBackward scan;
  SIMT_DEVICE void operator()() const {
    const auto [sequence, begin, end, j] = place_of(scan.offsets, scan.candidates.cols);
    if (j >= scan.candidates.cols) return;
    float carried = 0;
    for (std::int64_t t = end - 1; t >= begin; --t) {
      const float g = at(scan.dcells, t, j) + carried;
      const float f = at(scan.forget, t, j);
      const float before = t == begin ? 0 : at(scan.cells, t - 1, j);
      if (scan.dcandidates.value.data != nullptr)
        put(scan.dcandidates.value, t, j, g * (1 - f), scan.dcandidates.accumulate);
      if (scan.dforget.value.data != nullptr)
        put(scan.dforget.value, t, j, g * (before - at(scan.candidates, t, j)), scan.dforget.accumulate);
      carried = g * f;
    }
  }
};

}  // namespace

void scan(const Scan& arguments) {
  for_each_column(arguments.offsets, arguments.candidates.cols, Forward{arguments});
}
void scan_backward(const ScanBackward& arguments) {
  for_each_column(arguments.offsets, arguments.candidates.cols, Backward{arguments});
}

}  // namespace dragoman::ssru::device

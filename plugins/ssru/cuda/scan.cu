#include "launch.h"
#include "scan.h"

namespace dragoman::ssru::device {
namespace {

constexpr int kThreads = 256;

SSRU_DEVICE float& at(const Matrix& matrix, std::int64_t row, std::int64_t col) {
  return matrix.data[row * matrix.stride + col];
}
SSRU_DEVICE void put(const Target& target, std::int64_t row, std::int64_t col, float value) {
  if (target.value.data == nullptr) return;
  float& place = at(target.value, row, col);
  place = target.accumulate ? place + value : value;
}

constexpr std::int64_t blocks_of(std::int64_t width) {
  return (width + kThreads - 1) / kThreads;
}

/// Each thread processes one column of one sequence, token by token. Adjacent threads read adjacent memory.
struct Place {
  std::int64_t sequence;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t column;
};
SSRU_DEVICE Place place_of(const Offsets& offsets, std::int64_t width) {
  const std::int64_t parts = (width + kThreads - 1) / kThreads;
  const std::int64_t sequence = block_index() / parts;
  return {sequence, offsets.data[sequence], offsets.data[sequence + 1],
          block_index() % parts * kThreads + thread_index()};
}
template <class Kernel>
const char* for_each_column(const Offsets& offsets, std::int64_t width, void* stream, const Kernel& kernel) {
  return launch((offsets.count - 1) * blocks_of(width), kThreads, stream, kernel);
}

struct Forward {
  Scan scan;
  SSRU_DEVICE void operator()() const {
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
  SSRU_DEVICE void operator()() const {
    const auto [sequence, begin, end, j] = place_of(scan.offsets, scan.candidates.cols);
    if (j >= scan.candidates.cols) return;
    float carried = 0;
    for (std::int64_t t = end - 1; t >= begin; --t) {
      const float g = at(scan.dcells, t, j) + carried;
      const float f = at(scan.forget, t, j);
      const float before = t == begin ? 0 : at(scan.cells, t - 1, j);
      put(scan.dcandidates, t, j, g * (1 - f));
      put(scan.dforget, t, j, g * (before - at(scan.candidates, t, j)));
      carried = g * f;
    }
  }
};

}  // namespace

const char* scan(const Scan& arguments, void* stream) {
  return for_each_column(arguments.offsets, arguments.candidates.cols, stream, Forward{arguments});
}
const char* scan_backward(const ScanBackward& arguments, void* stream) {
  return for_each_column(arguments.offsets, arguments.candidates.cols, stream, Backward{arguments});
}

}  // namespace dragoman::ssru::device
